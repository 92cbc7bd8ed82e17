//! Who owns a record and who may read it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::name::name_type;
use crate::{Error, Result};

name_type! {
    /// The user or team that owns a scope.
    Owner, "scope owner"
}

impl Default for Owner {
    fn default() -> Self {
        Self("default".to_owned())
    }
}

/// Where a record lives inside its tenant.
///
/// Written as `public`, `team:NAME` or `user:NAME`; a bare `team` or `user` means the owner `default`.
///
/// ```
/// use learnkit_core::record::Scope;
/// let scope: Scope = "team:ops".parse()?;
/// assert_eq!(scope.to_string(), "team:ops");
/// # Ok::<(), learnkit_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Scope {
    /// One user's own records.
    User(Owner),
    /// One team's records.
    Team(Owner),
    /// Records for everyone in the tenant.
    Public,
}

impl Scope {
    /// A user's scope.
    ///
    /// # Errors
    /// `InvalidInput` when the name breaks the grammar of names.
    pub fn user(name: &str) -> Result<Self> {
        Ok(Self::User(Owner::new(name)?))
    }

    /// A team's scope.
    ///
    /// # Errors
    /// `InvalidInput` when the name breaks the grammar of names.
    pub fn team(name: &str) -> Result<Self> {
        Ok(Self::Team(Owner::new(name)?))
    }
}

impl Default for Scope {
    fn default() -> Self {
        Self::Team(Owner::default())
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(owner) => write!(f, "user:{owner}"),
            Self::Team(owner) => write!(f, "team:{owner}"),
            Self::Public => f.write_str("public"),
        }
    }
}

impl FromStr for Scope {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (level, owner) = match text.split_once(':') {
            Some((level, owner)) => (level, Owner::new(owner)?),
            None => (text, Owner::default()),
        };
        match level {
            "user" => Ok(Self::User(owner)),
            "team" => Ok(Self::Team(owner)),
            "public" if !text.contains(':') => Ok(Self::Public),
            _ => Err(Error::invalid(format!("unknown scope `{text}`; write `public`, `team:NAME` or `user:NAME`"))),
        }
    }
}

impl TryFrom<String> for Scope {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> Self {
        scope.to_string()
    }
}

/// Who reads: the scope that is written to, and the team of a user.
///
/// A user reads user, team and public; a team reads team and public; public reads public.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reader {
    /// The scope that this reader writes to.
    pub scope: Scope,
    /// The team of a user; ignored for the other scopes.
    pub team: Owner,
}

impl Reader {
    /// The readable scopes, narrowest first.
    pub fn readable(&self) -> Vec<Scope> {
        match &self.scope {
            Scope::User(_) => vec![self.scope.clone(), Scope::Team(self.team.clone()), Scope::Public],
            Scope::Team(_) => vec![self.scope.clone(), Scope::Public],
            Scope::Public => vec![Scope::Public],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b17_a_user_reads_user_team_and_public() {
        let reader = Reader { scope: Scope::user("ann").unwrap(), team: Owner::new("ops").unwrap() };
        let shown: Vec<String> = reader.readable().iter().map(Scope::to_string).collect();
        assert_eq!(shown, ["user:ann", "team:ops", "public"]);
        assert_eq!(Reader { scope: Scope::Public, ..reader }.readable(), [Scope::Public]);
    }

    #[test]
    fn scopes_round_trip_through_text() {
        for text in ["public", "team:default", "user:team-a/b", "team:a:b"] {
            assert_eq!(text.parse::<Scope>().unwrap().to_string(), text);
        }
        assert!("public:x".parse::<Scope>().is_err());
        assert!("everyone".parse::<Scope>().is_err());
    }
}
