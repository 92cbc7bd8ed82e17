//! `config show`: the settings that hold.

use learnkit::config::Setting;
use serde_json::{Value, json};

use crate::args::{ConfigArgs, ConfigCommand};
use crate::failure::{Ending, Outcome};
use crate::{Context, memory};

pub(super) fn run(args: &ConfigArgs, context: &mut Context<'_>) -> Outcome {
    let ConfigCommand::Show { origin } = args.command;
    let layers = memory::layers(context, Some(&args.whose.identity()))?;
    let out = &mut context.out;
    let shown = Setting::ALL.iter().map(|setting| (setting, setting.show(layers.values()), layers.origin(setting)));
    if out.is_json() {
        let settings = shown.map(|(setting, value, layer)| {
            json!({ "key": setting.key, "value": value, "origin": layer.to_string(), "variable": setting.variable })
        });
        let settings: Vec<Value> = settings.collect();
        out.json(&json!({ "file": layers.file(), "settings": settings }))?;
        return Ok(Ending::Good);
    }
    let shown = shown.map(|(setting, value, layer)| {
        [
            setting.key.to_owned(),
            value.unwrap_or_else(|| "-".to_owned()),
            layer.to_string(),
            setting.variable.to_owned(),
        ]
    });
    if origin {
        out.table(["KEY", "VALUE", "ORIGIN", "VARIABLE"], shown.collect())?;
    } else {
        out.table(["KEY", "VALUE"], shown.map(|[key, value, ..]| [key, value]).collect())?;
    }
    Ok(Ending::Good)
}
