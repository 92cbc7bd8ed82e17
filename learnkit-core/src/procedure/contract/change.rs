//! One difference between a contract and what a tool says now.

use serde::Serialize;

/// What kind of difference it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// A new field that need not be given.
    FieldAdded,
    /// An enum takes more values than before, and every one of before.
    EnumWidened,
    /// A field need not be given any more.
    FieldNotRequired,
    /// A limit on a value is gone or wider.
    LimitWidened,
    /// The tool is gone, or has another name.
    ToolGone,
    /// A value has another type.
    TypeChanged,
    /// A field is gone.
    FieldRemoved,
    /// A new field that has to be given.
    RequiredFieldAdded,
    /// A field has to be given now.
    FieldRequired,
    /// An enum does not take every value any more that it took.
    EnumShrunk,
    /// A limit on a value is new or narrower.
    LimitNarrowed,
    /// Fields that are not named are refused or bounded now.
    AdditionalRefused,
    /// A description says something else: the tool may do something else.
    DescriptionChanged,
    /// A hint is another one.
    AnnotationChanged,
    /// The version is another one.
    VersionChanged,
    /// Anything else about the schema.
    SchemaChanged,
}

impl ChangeKind {
    /// Whether a procedure may not replay after it.
    ///
    /// The table of compatible changes is this list; each lets every call through that was let through
    /// before. What is not in it blocks, whether it would do harm or not.
    pub fn blocks(self) -> bool {
        !matches!(self, Self::FieldAdded | Self::EnumWidened | Self::FieldNotRequired | Self::LimitWidened)
    }

    /// What happened, in words.
    fn words(self) -> &'static str {
        match self {
            Self::FieldAdded => "new optional field",
            Self::EnumWidened => "takes more values",
            Self::FieldNotRequired => "optional now",
            Self::LimitWidened => "wider limit",
            Self::ToolGone => "the tool is gone",
            Self::TypeChanged => "another type",
            Self::FieldRemoved => "field removed",
            Self::RequiredFieldAdded => "new required field",
            Self::FieldRequired => "required now",
            Self::EnumShrunk => "takes fewer values",
            Self::LimitNarrowed => "narrower limit",
            Self::AdditionalRefused => "other fields refused now",
            Self::DescriptionChanged => "description changed",
            Self::AnnotationChanged => "annotation changed",
            Self::VersionChanged => "version changed",
            Self::SchemaChanged => "schema changed",
        }
    }
}

/// One difference between a contract and what a tool says now.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ContractChange {
    /// What kind of difference.
    pub kind: ChangeKind,
    /// Where in the schema, a JSON pointer; empty for the tool as a whole.
    pub place: String,
    /// What it was and is, where there is more to say.
    pub detail: String,
}

impl ContractChange {
    /// A change of the tool as a whole.
    pub(crate) fn whole(kind: ChangeKind, detail: impl Into<String>) -> Self {
        Self { kind, place: String::new(), detail: detail.into() }
    }

    /// Whether a procedure may not replay after it.
    pub fn blocks(&self) -> bool {
        self.kind.blocks()
    }

    /// The name of the field that is new here and need not be given.
    pub(crate) fn added_field(&self) -> Option<&str> {
        (self.kind == ChangeKind::FieldAdded).then_some(self.detail.as_str())
    }
}

impl std::fmt::Display for ContractChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.kind.words())?;
        if !self.place.is_empty() {
            write!(f, " at {}", self.place)?;
        }
        if !self.detail.is_empty() && self.added_field().is_none() {
            write!(f, ": {}", self.detail)?;
        }
        Ok(())
    }
}
