//! The checkout: where it is, and the text files in it that Git knows or would add.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One text file of the checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFile {
    /// Relative to the root, with `/`.
    pub path: String,
    /// The whole text.
    pub text: String,
}

impl TextFile {
    /// Whether the name ends with this extension.
    pub fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|own| own == extension)
    }

    /// The lines with their numbers, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// The text files of the checkout.
#[derive(Debug, Clone)]
pub struct Checkout {
    root: PathBuf,
    files: Vec<TextFile>,
}

impl Checkout {
    /// Reads the checkout that this program was built from.
    ///
    /// # Errors
    /// When Git cannot list the files or one of them cannot be read.
    pub fn read() -> io::Result<Self> {
        let root = root();
        let listing = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(&root)
            .output()?;
        if !listing.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&listing.stderr).into_owned()));
        }
        let paths = String::from_utf8_lossy(&listing.stdout).into_owned();
        let mut files = Vec::new();
        for path in paths.split('\0').filter(|path| !path.is_empty()) {
            files.extend(read_text(&root, path)?);
        }
        Ok(Self { root, files })
    }

    /// A checkout made of these files, for tests.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| TextFile { path: (*path).to_owned(), text: (*text).to_owned() });
        Self { root: PathBuf::from("no such folder"), files: files.collect() }
    }

    /// Every text file.
    pub fn files(&self) -> &[TextFile] {
        &self.files
    }

    /// The text of a file, empty when there is none.
    pub fn text(&self, path: &str) -> &str {
        self.files.iter().find(|file| file.path == path).map_or("", |file| &file.text)
    }

    /// Whether a file or folder is there, by its path from the root.
    pub fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        self.files.iter().any(|file| file.path == path || file.path.starts_with(&folder))
            || self.root.join(path).exists()
    }
}

/// The root of the checkout: the folder above this package.
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

/// A file's text; nothing for binary files and for files that were deleted but not yet from the index.
fn read_text(root: &Path, path: &str) -> io::Result<Option<TextFile>> {
    match std::fs::read(root.join(path)) {
        Ok(bytes) => Ok(String::from_utf8(bytes).ok().map(|text| TextFile { path: path.to_owned(), text })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
