//! Checks of the manifests: lints everywhere, one name for one thing.

use super::Finding;
use crate::checkout::Checkout;

const ROOT: &str = "Cargo.toml";
const BACKENDS: &str = "learnkit-backends";
const ADAPTERS: &str = "learnkit-adapters";

/// Crates that neither inherit the workspace lints nor forbid unsafe code themselves.
pub fn crates_without_lints(checkout: &Checkout) -> Vec<Finding> {
    let root = Manifest(checkout.text(ROOT));
    let members = root.strings("workspace", "members").into_iter().map(|member| format!("{member}/{ROOT}"));
    let paths = std::iter::once(ROOT.to_owned()).chain(members);
    paths.filter_map(|path| lints_finding(&path, Manifest(checkout.text(&path)))).collect()
}

fn lints_finding(path: &str, manifest: Manifest<'_>) -> Option<Finding> {
    let inherits = manifest.value("lints", "workspace") == Some("true");
    let forbids = manifest.value("lints.rust", "unsafe_code") == Some("\"forbid\"");
    let message = "inherit the workspace lints, or forbid `unsafe_code`";
    (!inherits && !forbids).then(|| Finding::in_file(path, message))
}

/// Features, schemes, modules and packages that do not share one name.
///
/// A backend feature is also its folder, its package, its module in the hub and its URI scheme; an
/// adapter feature is also its module; the facade forwards each under the same name.
pub fn names_that_differ(checkout: &Checkout) -> Vec<Finding> {
    let backends = features(checkout, BACKENDS).into_iter().flat_map(|name| backend_findings(checkout, &name));
    let adapters = features(checkout, ADAPTERS).into_iter().flat_map(|name| adapter_findings(checkout, &name));
    backends.chain(adapters).collect()
}

fn features(checkout: &Checkout, hub: &str) -> Vec<String> {
    let path = format!("{hub}/{ROOT}");
    let keys = Manifest(checkout.text(&path)).keys("features");
    keys.into_iter().filter(|name| *name != "default").map(str::to_owned).collect()
}

fn backend_findings(checkout: &Checkout, name: &str) -> Vec<Finding> {
    let manifest = format!("{BACKENDS}/{name}/{ROOT}");
    let package = format!("\"learnkit-backend-{name}\"");
    let hub = format!("{BACKENDS}/src/lib.rs");
    let module = format!("learnkit_backend_{} as {};", name.replace('-', "_"), name.replace('-', "_"));
    let sources = format!("{BACKENDS}/{name}/src/");
    let own = checkout.files().iter().filter(|file| file.path.starts_with(&sources));
    let registers = own.into_iter().any(|file| registers_scheme(&file.text, name));
    let mut findings = forward_findings(checkout, BACKENDS, name);
    let mut expect = |holds: bool, path: &str, message: String| {
        if !holds {
            findings.push(Finding::in_file(path, message));
        }
    };
    let found = Manifest(checkout.text(&manifest)).value("package", "name");
    expect(found == Some(package.as_str()), &manifest, format!("the package of feature `{name}` is named {package}"));
    expect(checkout.text(&hub).contains(&module), &hub, format!("feature `{name}` needs `pub use {module}`"));
    expect(registers, &sources, format!("nothing registers the scheme `{name}` with `register_backend!`"));
    findings
}

fn adapter_findings(checkout: &Checkout, name: &str) -> Vec<Finding> {
    let module = name.replace('-', "_");
    let sources = format!("{ADAPTERS}/src");
    let is_there = checkout.has(&format!("{sources}/{module}.rs")) || checkout.has(&format!("{sources}/{module}"));
    let mut findings = forward_findings(checkout, ADAPTERS, name);
    if !is_there {
        findings.push(Finding::in_file(&sources, format!("feature `{name}` has no module `{module}`")));
    }
    findings
}

fn forward_findings(checkout: &Checkout, hub: &str, name: &str) -> Vec<Finding> {
    let forwards = Manifest(checkout.text(ROOT)).strings("features", name).contains(&format!("{hub}/{name}").as_str());
    let message = format!("the facade has no feature `{name}` that turns on `{hub}/{name}`");
    if forwards { Vec::new() } else { vec![Finding::in_file(ROOT, message)] }
}

/// Whether a source calls `register_backend!` with this scheme as its first argument.
fn registers_scheme(source: &str, name: &str) -> bool {
    let scheme = format!("\"{name}\"");
    source.split("register_backend!").skip(1).any(|call| {
        let arguments = call.trim_start().trim_start_matches(['(', '{', '[']);
        arguments.trim_start().starts_with(&scheme)
    })
}

/// As much of a manifest as the checks need: sections, keys, strings in arrays.
#[derive(Debug, Clone, Copy)]
pub struct Manifest<'a>(pub &'a str);

impl<'a> Manifest<'a> {
    /// The lines of a section, without comments and blank lines.
    fn section(self, name: &str) -> Vec<&'a str> {
        let header = format!("[{name}]");
        let lines = self.0.lines().map(str::trim).skip_while(|line| *line != header).skip(1);
        let body = lines.take_while(|line| !is_header(line));
        body.filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
    }

    /// The keys of a section.
    fn keys(self, section: &str) -> Vec<&'a str> {
        let lines = self.section(section).into_iter();
        lines.filter_map(|line| line.split_once('=')).map(|(key, _)| key.trim()).collect()
    }

    /// A value that stands on the line of its key, as written.
    pub fn value(self, section: &str, key: &str) -> Option<&'a str> {
        let lines = self.section(section).into_iter();
        lines.filter_map(|line| line.split_once('=')).find(|(own, _)| own.trim() == key).map(|(_, value)| value.trim())
    }

    /// The strings of an array, on one line or several.
    pub fn strings(self, section: &str, key: &str) -> Vec<&'a str> {
        let starts = |line: &&str| line.split_once('=').is_some_and(|(own, _)| own.trim() == key);
        let lines = self.section(section).into_iter().skip_while(|line| !starts(line));
        let mut strings = Vec::new();
        for line in lines {
            strings.extend(line.split('"').skip(1).step_by(2));
            if line.ends_with(']') {
                break;
            }
        }
        strings
    }
}

/// Whether a line opens a section; the line `[` of an array does not.
fn is_header(line: &str) -> bool {
    line.starts_with('[') && line.ends_with(']') && !line.contains('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "\
[workspace]
# a comment = not a key
members = [
    \"a\",
    \"b/c\",
]
default-members = [\".\"]

[features]
default = [\"x\"]
x = [\"hub/x\", \"dep:y\"]

[lints]
workspace = true
";

    #[test]
    fn sections_keys_and_arrays_are_read() {
        let manifest = Manifest(MANIFEST);
        assert_eq!(manifest.strings("workspace", "members"), ["a", "b/c"]);
        assert_eq!(manifest.strings("workspace", "default-members"), ["."]);
        assert_eq!(manifest.strings("features", "x"), ["hub/x", "dep:y"]);
        assert_eq!(manifest.keys("features"), ["default", "x"]);
        assert_eq!(manifest.value("lints", "workspace"), Some("true"));
        assert_eq!(manifest.value("lints", "absent"), None);
        assert_eq!(manifest.strings("absent", "x"), [""; 0]);
    }

    #[test]
    fn every_crate_needs_lints() {
        let own = "[lints.rust]\nunsafe_code = \"forbid\"\n";
        let places = |member: &str| {
            let root = "[workspace]\nmembers = [\"m\"]\n[lints]\nworkspace = true\n";
            crates_without_lints(&Checkout::of(&[(ROOT, root), ("m/Cargo.toml", member)])).len()
        };
        assert_eq!(places(own), 0);
        assert_eq!(places("[package]\nname = \"m\"\n"), 1);
    }

    fn tree(feature: &str, package: &str, module: &str, scheme: &str) -> usize {
        let root = format!("[features]\n{feature} = [\"learnkit-backends/{feature}\"]\n");
        let own = format!("[package]\nname = \"{package}\"\n");
        let hub = format!("pub use {module};\n");
        let source = format!("register_backend!(\"{scheme}\", \"Keeps it.\", open);");
        names_that_differ(&Checkout::of(&[
            (ROOT, &root),
            ("learnkit-backends/Cargo.toml", "[features]\ndisk = [\"dep:x\"]\n"),
            ("learnkit-backends/src/lib.rs", &hub),
            ("learnkit-backends/disk/Cargo.toml", &own),
            ("learnkit-backends/disk/src/lib.rs", &source),
        ]))
        .len()
    }

    #[test]
    fn a_backend_has_one_name() {
        let module = "learnkit_backend_disk as disk";
        assert_eq!(tree("disk", "learnkit-backend-disk", module, "disk"), 0);
        assert_eq!(tree("drive", "learnkit-backend-disk", module, "disk"), 1);
        assert_eq!(tree("disk", "learnkit-disk", module, "disk"), 1);
        assert_eq!(tree("disk", "learnkit-backend-disk", "learnkit_backend_disk", "disk"), 1);
        assert_eq!(tree("disk", "learnkit-backend-disk", module, "file"), 1);
    }

    #[test]
    fn an_adapter_feature_is_forwarded_and_has_a_module() {
        let hub = ("learnkit-adapters/Cargo.toml", "[features]\nchat = []\n");
        let root = (ROOT, "[features]\nchat = [\"learnkit-adapters/chat\"]\n");
        assert_eq!(names_that_differ(&Checkout::of(&[hub])).len(), 2);
        assert_eq!(names_that_differ(&Checkout::of(&[hub, root, ("learnkit-adapters/src/chat/mod.rs", "")])).len(), 0);
    }
}
