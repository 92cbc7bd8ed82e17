//! Reading tool lists as users have them: of OpenAI, Anthropic, MCP, and our own.

use std::collections::BTreeMap;

use super::{Schema, ToolAnnotations, ToolManifest, ToolSpec};
use crate::json::Json;
use crate::{Error, Result};

/// The form that a tool list was written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ManifestForm {
    /// `{"type": "function", "function": {"name", "description", "parameters"}}`
    OpenAiChat,
    /// `{"type": "function", "name", "description", "parameters"}`
    OpenAiResponses,
    /// `{"name", "description", "input_schema"}`
    Anthropic,
    /// `{"name", "description", "inputSchema", "annotations": {"readOnlyHint", …}}`
    Mcp,
    /// `{NAME: {"annotations", "description", "input_schema", "version"}}`
    Own,
}

/// A tool list with the form it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadManifest {
    /// The tools.
    pub tools: ToolManifest,
    /// The form.
    pub form: ManifestForm,
}

impl ToolManifest {
    /// Reads a tool list: the `tools` of a request to OpenAI (chat or Responses) or Anthropic, the answer of
    /// an MCP server to `tools/list`, or our own form, a map of names. A list may also stand under `tools`, or
    /// under `result.tools`.
    ///
    /// Tools that a provider runs itself and that have no name are left out: no procedure can call them.
    ///
    /// # Errors
    /// `InvalidInput` when the text is no JSON or only a page of a list, or when a tool is in none of these forms
    /// or in another one than those before it, has no name, or shares its name; the tool is named.
    pub fn parse(text: &str) -> Result<ReadManifest> {
        let json = Json::parse(text)
            .map_err(|error| Error::invalid("the tool list is no JSON; check the file").with_source(error))?;
        refuse_a_page(&json)?;
        match list_of(&json) {
            Some(items) => read_list(items),
            None => read_own(&json),
        }
    }
}

/// Tools of the pages that are not there would look as if they were gone.
fn refuse_a_page(json: &Json) -> Result<()> {
    let answer = json.get("result").unwrap_or(json);
    match (answer.get("tools"), answer.get("nextCursor")) {
        (Some(Json::List(_)), Some(Json::Text(next))) if !next.is_empty() => Err(Error::invalid(
            "the list is one page of several (`nextCursor`); put the tools of all pages into one list",
        )),
        _ => Ok(()),
    }
}

/// The list of a document, wherever it stands.
fn list_of(json: &Json) -> Option<&[Json]> {
    let nested = || json.get("tools").or_else(|| json.get("result")?.get("tools"));
    match json {
        Json::List(items) => Some(items),
        Json::Object(_) => match nested()? {
            Json::List(items) => Some(items),
            _ => None,
        },
        _ => None,
    }
}

fn read_list(items: &[Json]) -> Result<ReadManifest> {
    let mut form = None;
    let mut tools = BTreeMap::new();
    for (at, item) in items.iter().enumerate() {
        let Some(listed) = Listed::of(item).map_err(|error| error.with_context("tool", at + 1))? else { continue };
        if *form.get_or_insert(listed.form) != listed.form {
            let message = "the list mixes the forms of several APIs; split it into one list for each";
            return Err(Error::invalid(message).with_context("tool", at + 1));
        }
        let (name, spec) = listed.read().map_err(|error| error.with_context("tool", at + 1))?;
        if tools.insert(name.clone(), spec).is_some() {
            return Err(Error::invalid(format!("the list has two tools `{name}`; keep one of them")));
        }
    }
    Ok(ReadManifest { tools: tools.into_iter().collect(), form: form.unwrap_or(ManifestForm::Own) })
}

/// One tool of a list, its form known.
struct Listed<'a> {
    form: ManifestForm,
    /// The object that has its name.
    tool: &'a Json,
}

impl<'a> Listed<'a> {
    /// Absent for a tool that its provider runs and that has no name.
    fn of(item: &'a Json) -> Result<Option<Self>> {
        let kind = item.get("type").and_then(Json::scalar_text);
        let has = |key: &str| item.get(key).is_some();
        let (form, tool) = match kind {
            Some("function") if has("function") => (ManifestForm::OpenAiChat, item.get("function").unwrap_or(item)),
            Some("function") if has("name") => (ManifestForm::OpenAiResponses, item),
            _ if has("name") && has("inputSchema") => (ManifestForm::Mcp, item),
            _ if has("name") && (has("input_schema") || kind.is_some()) => (ManifestForm::Anthropic, item),
            Some(kind) if kind != "function" => return Ok(None),
            _ => return Err(unknown_form()),
        };
        Ok(Some(Self { form, tool }))
    }

    fn read(&self) -> Result<(String, ToolSpec)> {
        let schema = match self.form {
            ManifestForm::OpenAiChat | ManifestForm::OpenAiResponses => "parameters",
            ManifestForm::Mcp => "inputSchema",
            ManifestForm::Anthropic | ManifestForm::Own => "input_schema",
        };
        let name = text(self.tool, "name")?.filter(|name| !name.trim().is_empty());
        let name = name.ok_or_else(|| Error::invalid("a tool has no name; give it one"))?;
        let spec = ToolSpec {
            annotations: match self.form {
                ManifestForm::Mcp => hints(self.tool)?,
                _ => ToolAnnotations::default(),
            },
            description: text(self.tool, "description")?,
            input_schema: read_schema(self.tool, schema)?,
            version: None,
        };
        Ok((name, spec))
    }
}

fn unknown_form() -> Error {
    Error::invalid(
        "it is a tool in no form that is known; these are: OpenAI (`function` with `parameters`), Anthropic \
         (`name` with `input_schema`), MCP (`name` with `inputSchema`), and a map of names to `input_schema`, \
         `description`, `annotations`, `version`",
    )
}

/// A field that is text; `null` is absent.
fn text(tool: &Json, key: &str) -> Result<Option<String>> {
    match tool.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Text(text)) => Ok(Some(text.clone())),
        Some(other) => Err(wrong(key, "text", other)),
    }
}

/// A field that says yes or no; `null` is absent.
fn flag(tool: &Json, key: &str) -> Result<Option<bool>> {
    match tool.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Bool(value)) => Ok(Some(*value)),
        Some(other) => Err(wrong(key, "true or false", other)),
    }
}

fn wrong(key: &str, wanted: &str, found: &Json) -> Error {
    Error::invalid(format!("`{key}` of a tool must be {wanted}, and is a {}", found.kind()))
}

/// A schema, also as the text of one; `null` is absent.
fn read_schema(tool: &Json, key: &str) -> Result<Option<Schema>> {
    match tool.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Text(text)) => Schema::parse(text).map(Some),
        Some(json) => Schema::of_json(json).map(Some),
    }
}

/// The hints of MCP; its title and its word on the open world change nothing here.
fn hints(tool: &Json) -> Result<ToolAnnotations> {
    let Some(hints) = tool.get("annotations") else { return Ok(ToolAnnotations::default()) };
    Ok(ToolAnnotations {
        read_only: flag(hints, "readOnlyHint")?,
        destructive: flag(hints, "destructiveHint")?,
        idempotent: flag(hints, "idempotentHint")?,
        ..ToolAnnotations::default()
    })
}

fn read_own(json: &Json) -> Result<ReadManifest> {
    let Json::Object(tools) = json else { return Err(unknown_form()) };
    let named = |(name, tool): (&String, &Json)| {
        let spec = own_spec(tool).map_err(|error| error.with_context("tool", name))?;
        Ok((name.clone(), spec))
    };
    let tools = tools.iter().map(named).collect::<Result<Vec<_>>>()?;
    Ok(ReadManifest { tools: tools.into_iter().collect(), form: ManifestForm::Own })
}

fn own_spec(tool: &Json) -> Result<ToolSpec> {
    known_only(tool, &["annotations", "description", "input_schema", "version"])?;
    Ok(ToolSpec {
        annotations: match tool.get("annotations") {
            None | Some(Json::Null) => ToolAnnotations::default(),
            Some(annotations) => own_annotations(annotations)?,
        },
        description: text(tool, "description")?,
        input_schema: read_schema(tool, "input_schema")?,
        version: text(tool, "version")?,
    })
}

fn own_annotations(json: &Json) -> Result<ToolAnnotations> {
    known_only(json, &["read_only", "destructive", "idempotent", "requires_approval", "exploration"])?;
    Ok(ToolAnnotations {
        read_only: flag(json, "read_only")?,
        destructive: flag(json, "destructive")?,
        idempotent: flag(json, "idempotent")?,
        requires_approval: flag(json, "requires_approval")?.unwrap_or_default(),
        exploration: flag(json, "exploration")?.unwrap_or_default(),
    })
}

/// Refuses what our own form has no field for: a word that is passed over is a promise that nobody keeps.
fn known_only(json: &Json, known: &[&str]) -> Result<()> {
    let Json::Object(fields) = json else { return Err(unknown_form()) };
    match fields.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(_) if !fields.keys().any(|key| known.contains(&key.as_str())) => Err(unknown_form()),
        Some(key) => Err(Error::invalid(format!("`{key}` is no field here; there are: {}", known.join(", ")))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::ErrorKind;
    use crate::tool::EffectClass;

    fn read(json: &Value) -> ReadManifest {
        ToolManifest::parse(&json.to_string()).unwrap()
    }

    fn refusal(json: &Value) -> Error {
        ToolManifest::parse(&json.to_string()).unwrap_err()
    }

    fn schema() -> Value {
        json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]})
    }

    #[test]
    fn the_same_tool_is_read_alike_in_every_form() {
        let (name, description) = ("refund", "Refund an order.");
        let chat = json!({"name": name, "description": description, "parameters": schema(), "strict": true});
        let chat = json!([{"type": "function", "function": chat}]);
        let flat = json!([{"type": "function", "name": name, "description": description, "parameters": schema()}]);
        let anthropic = json!([{"name": name, "description": description, "input_schema": schema()}]);
        let mcp = json!({"tools": [{"name": name, "description": description, "inputSchema": schema()}]});
        let rpc = json!({"jsonrpc": "2.0", "id": 1, "result": mcp});
        let last = json!({"tools": mcp["tools"], "nextCursor": ""});
        let own = json!({name: {"description": description, "input_schema": schema()}});
        let as_text = json!({name: {"description": description, "input_schema": schema().to_string()}});
        let forms = [
            (chat.clone(), ManifestForm::OpenAiChat),
            (json!({"model": "m", "tools": chat}), ManifestForm::OpenAiChat),
            (flat, ManifestForm::OpenAiResponses),
            (anthropic, ManifestForm::Anthropic),
            (mcp, ManifestForm::Mcp),
            (rpc, ManifestForm::Mcp),
            (last, ManifestForm::Mcp),
            (own.clone(), ManifestForm::Own),
            (as_text, ManifestForm::Own),
        ];
        let expected = read(&own).tools;
        for (json, form) in forms {
            assert_eq!(read(&json), ReadManifest { tools: expected.clone(), form }, "{json}");
        }
    }

    #[test]
    fn hints_of_mcp_become_annotations_and_our_own_form_reads_back() {
        let annotations =
            json!({"readOnlyHint": true, "idempotentHint": false, "title": "Look", "openWorldHint": true});
        let read = read(&json!({"tools": [{"name": "look", "inputSchema": {}, "annotations": annotations}]}));
        let spec = read.tools.get("look").unwrap();
        assert_eq!((spec.annotations.read_only, spec.annotations.idempotent), (Some(true), Some(false)));
        assert_eq!(spec.annotations.destructive, None);
        let own = serde_json::to_string(&read.tools).unwrap();
        assert_eq!(ToolManifest::parse(&own).unwrap().tools, read.tools);
        assert_eq!(serde_json::from_str::<ToolManifest>(&own).unwrap(), read.tools);
    }

    #[test]
    fn each_combination_of_hints_is_read_one_to_one_and_has_its_effect_class() {
        use EffectClass::{Destructive, Idempotent, ReadOnly, Unknown};
        let said = [None, Some(false), Some(true)];
        // By `readOnlyHint`, then by `destructiveHint`, then by `idempotentHint`: absent, false, true.
        let classes = [
            [[Unknown, Unknown, Idempotent], [Unknown, Unknown, Idempotent], [Destructive; 3]],
            [[Unknown, Unknown, Idempotent], [Unknown, Unknown, Idempotent], [Destructive; 3]],
            [[ReadOnly; 3]; 3],
        ];
        for (read_only, rest) in said.into_iter().zip(classes) {
            for (destructive, rest) in said.into_iter().zip(rest) {
                for (idempotent, class) in said.into_iter().zip(rest) {
                    let hints =
                        [("readOnlyHint", read_only), ("destructiveHint", destructive), ("idempotentHint", idempotent)];
                    let stated = hints.into_iter().filter_map(|(hint, value)| Some((hint.to_owned(), value?.into())));
                    let hints = Value::Object(stated.collect());
                    let tool = json!({"tools": [{"name": "t", "inputSchema": {}, "annotations": hints}]});
                    let read = read(&tool).tools.annotations("t");
                    let own = ToolAnnotations { read_only, destructive, idempotent, ..ToolAnnotations::default() };
                    assert_eq!((read, read.effect()), (own, class), "{hints}");
                }
            }
        }
    }

    #[test]
    fn tools_that_a_provider_runs_are_no_tools_to_call() {
        let read = read(&json!([{"type": "web_search_preview"}, {"type": "function", "name": "f"}]));
        assert_eq!(read.tools.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["f"]);
    }

    #[test]
    fn what_is_no_tool_list_is_refused_by_name() {
        let two = json!([{"name": "a", "input_schema": {}}, {"name": "a", "input_schema": {}}]);
        let mixed = json!([{"name": "a", "input_schema": {}}, {"name": "b", "inputSchema": {}}]);
        for (json, said) in [
            (json!("refund"), "in no form that is known"),
            (json!([{"title": "refund"}]), "in no form that is known"),
            (json!({"refund": {"parameters": {}}}), "in no form that is known"),
            (json!({"refund": {"description": "d", "parameters": {}}}), "`parameters` is no field here"),
            (json!([{"name": "", "input_schema": {}}]), "has no name"),
            (json!([{"name": "a", "input_schema": [1]}]), "an input schema is a JSON object"),
            (json!({"a": {"annotations": {"read_only": "yes"}}}), "must be true or false"),
            (two, "two tools `a`"),
            (mixed, "mixes the forms"),
            (json!({"tools": [{"name": "a", "inputSchema": {}}], "nextCursor": "2"}), "one page of several"),
            (json!({"result": {"tools": [], "nextCursor": "2"}}), "one page of several"),
        ] {
            let error = refusal(&json);
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.to_string().contains(said), "{error}");
        }
    }
}
