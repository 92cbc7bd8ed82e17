//! A task, its identity and its key: exact means exact.

use std::collections::BTreeMap;
use std::fmt;

mod align;
mod canonical;
mod key;

pub(crate) use align::{Class, is_unit, tokens};
pub use align::{MAX_TEXTS, MAX_WORDS, Segment, Skeleton, SlotKind};
pub use canonical::canonical;
pub use key::{Identity, TaskKey};

use crate::{Error, Result};

/// What the user asked, and everything else that makes it the same task or another one.
///
/// ```
/// use learnkit_core::task::Task;
/// let task = Task::new("Build an active-user CSV report").with_format("csv");
/// assert_eq!(task.text(), "Build an active-user CSV report");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Task {
    text: String,
    template: Option<String>,
    parameters: BTreeMap<String, String>,
    history: Option<String>,
    format: Option<String>,
    environment: Option<String>,
}

impl Task {
    /// A task in plain words.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            template: None,
            parameters: BTreeMap::new(),
            history: None,
            format: None,
            environment: None,
        }
    }

    /// A task whose `{name}` words are data: [`TaskTemplate::with`] gives their values.
    ///
    /// ```
    /// use learnkit_core::task::Task;
    /// let task = Task::template("Build {fmt} report of {table}").with("fmt", "csv").with("table", "users").build()?;
    /// assert_eq!(task.text(), "Build csv report of users");
    /// # Ok::<(), learnkit_core::Error>(())
    /// ```
    pub fn template(template: impl Into<String>) -> TaskTemplate {
        TaskTemplate { template: template.into(), values: BTreeMap::new() }
    }

    /// The earlier turns of the conversation, oldest first; part of the identity.
    ///
    /// "Redo that report as JSON" means another report in another conversation. Give the results of tools as turns,
    /// too: "Book it" means another flight where the search before it found another one, and only what stands
    /// here tells the two apart.
    #[must_use]
    pub fn with_earlier_turns<'a>(mut self, turns: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        self.history = key::history_hash(turns);
        self
    }

    /// Whether there were turns before this task.
    pub fn has_earlier_turns(&self) -> bool {
        self.history.is_some()
    }

    /// The output format that is required, such as `json` or a schema's name; part of the identity.
    #[must_use]
    pub fn with_format(mut self, format: impl Into<String>) -> Self {
        self.format = Some(format.into());
        self
    }

    /// A digest of the world that the task acts on; part of the identity.
    #[must_use]
    pub fn with_environment(mut self, digest: impl Into<String>) -> Self {
        self.environment = Some(digest.into());
        self
    }

    /// The same task with its text as a template of these parameters; earlier turns, format and
    /// environment stay.
    ///
    /// # Errors
    /// As for [`TaskTemplate::build`].
    pub fn with_parameters(self, values: BTreeMap<String, String>) -> Result<Self> {
        let built = TaskTemplate { template: self.text, values }.build()?;
        Ok(Self { history: self.history, format: self.format, environment: self.environment, ..built })
    }

    /// The same task as one of a template: the values that a skeleton reads from its words are its parameters
    /// `p1`, `p2` and so on. Nothing where the skeleton does not read it, where it has declared parameters, or
    /// where a value is a secret.
    pub(crate) fn read_by(&self, skeleton: &Skeleton) -> Option<Self> {
        if self.template.is_some() {
            return None;
        }
        let values = skeleton.read(&self.canonical())?;
        let values = values.into_iter().enumerate().map(|(at, value)| (format!("p{}", at + 1), value));
        Self { text: skeleton.template(), ..self.clone() }.with_parameters(values.collect()).ok()
    }

    /// The task in words, parameters filled in.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The values of the declared parameters, by name.
    pub fn parameters(&self) -> &BTreeMap<String, String> {
        &self.parameters
    }

    /// The words of the task that are no parameter's value.
    pub(crate) fn literal(&self) -> String {
        let blank = self.parameters.keys().map(|name| (name.clone(), " ".to_owned())).collect();
        let filled = self.template.as_deref().map(|template| fill(template, &blank));
        filled.and_then(Result::ok).map_or_else(|| self.text.clone(), |(text, _)| text)
    }

    /// The text that identity compares: the template's literal text, or the task's own, canonical.
    pub fn canonical(&self) -> String {
        canonical(self.template.as_deref().unwrap_or(&self.text))
    }

    /// Whether it carries a digest of the world that it acts on; a blank one says nothing.
    pub fn has_environment(&self) -> bool {
        self.environment.as_deref().is_some_and(|digest| !digest.trim().is_empty())
    }

    /// Whether there is nothing to do: blank text.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

impl From<&str> for Task {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Task {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A template on its way to a [`Task`].
#[derive(Clone)]
pub struct TaskTemplate {
    template: String,
    values: BTreeMap<String, String>,
}

impl TaskTemplate {
    /// Gives a parameter its value.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.values.insert(name.into(), value.into());
        self
    }

    /// Fills the template in. `{{` and `}}` are literal braces.
    ///
    /// # Errors
    /// `InvalidInput` when a placeholder has no value, a value has no placeholder, a brace is not
    /// closed, there is no placeholder at all, or a parameter is a secret by its name or shape.
    pub fn build(self) -> Result<Task> {
        let (text, used) = fill(&self.template, &self.values)?;
        if let Some(name) = self.values.keys().find(|name| !used.contains(name)) {
            return Err(Error::invalid(format!(
                "the template has no `{{{name}}}`; remove the value or add the placeholder"
            )));
        }
        if let Some(name) = self.values.iter().find_map(|(name, value)| is_secret(name, value).then_some(name)) {
            let message = format!("the parameter `{name}` is a secret; give secrets to the tools, never to a task");
            return Err(Error::invalid(message));
        }
        if used.is_empty() {
            return Err(Error::invalid("the template has no `{name}`; use Task::new for plain text"));
        }
        Ok(Task { template: Some(self.template), parameters: self.values, ..Task::new(text) })
    }
}

/// Whether a parameter is a secret: the text of a task goes into prompts and into the store.
fn is_secret(name: &str, value: &str) -> bool {
    crate::secret::is_secret_key(name) || crate::secret::mask_text(value).found > 0
}

/// The text with values filled in, and the names that occur.
fn fill<'v>(template: &str, values: &'v BTreeMap<String, String>) -> Result<(String, Vec<&'v String>)> {
    let mut text = String::new();
    let mut used = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, tail) = rest.split_at(at);
        text.push_str(before);
        if tail.starts_with("{{") || tail.starts_with("}}") {
            text.extend(tail.chars().next());
            rest = tail.get(2..).unwrap_or_default();
            continue;
        }
        let unclosed = || Error::invalid("a `{` of the template is not closed; write `{{` for a literal brace");
        let name = tail.strip_prefix('{').and_then(|tail| tail.split_once('}')).ok_or_else(unclosed)?;
        let (key, value) = values.get_key_value(name.0).ok_or_else(|| {
            Error::invalid(format!(
                "parameter `{}` has no value; give it one, or write `{{{{` for a literal brace",
                name.0
            ))
        })?;
        text.push_str(value);
        used.push(key);
        rest = name.1;
    }
    text.push_str(rest);
    Ok((text, used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_needs_every_value_and_only_those() {
        assert!(Task::template("Build {fmt}").build().is_err());
        assert!(Task::template("Build").with("fmt", "csv").build().is_err());
        assert!(Task::template("Build {fmt").with("fmt", "csv").build().is_err());
        let task = Task::template("{{x}} {fmt}").with("fmt", "csv").build().unwrap();
        assert_eq!(task.text(), "{x} csv");
    }

    #[test]
    fn parameters_leave_the_rest_of_the_identity_alone() {
        let values = BTreeMap::from([("fmt".to_owned(), "csv".to_owned())]);
        let plain = Task::new("as {fmt}").with_earlier_turns([("user", "hi")]).with_format("json");
        let task = plain.clone().with_parameters(values.clone()).unwrap();
        assert_eq!((task.text(), task.parameters()), ("as csv", &values));
        assert_eq!((task.history, task.format), (plain.history, plain.format));
    }
}
