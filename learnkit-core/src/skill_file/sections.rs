//! The sections of a Markdown text: headings, and under each the items, paragraphs and code blocks.

/// What stands under a heading.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    heading: String,
    /// An item of a list with all that is indented under it, a paragraph, or a code block with the
    /// paragraph before it.
    pub(super) blocks: Vec<String>,
}

impl Section {
    /// Whether the heading is one of these, in any case.
    pub(super) fn is_called(&self, names: &[&str]) -> bool {
        let heading = self.heading.trim_end_matches(':');
        names.iter().any(|name| heading.eq_ignore_ascii_case(name))
    }

    /// The blocks, the first one after the heading, which says what they are about.
    pub(super) fn named_blocks(self) -> impl Iterator<Item = String> {
        let Self { heading, blocks } = self;
        let named = move |(at, block)| if at == 0 { format!("{heading}: {block}") } else { block };
        blocks.into_iter().enumerate().map(named)
    }
}

/// The sections of a text; what stands before the first heading has an empty one.
pub(super) fn sections(text: &str) -> Vec<Section> {
    let mut reader = Reader { sections: vec![Section::default()], ..Reader::default() };
    text.lines().for_each(|line| reader.read(line.trim_end()));
    reader.close();
    reader.sections
}

/// Reads line by line.
#[derive(Default)]
struct Reader {
    sections: Vec<Section>,
    /// The lines of the block that is being read.
    lines: Vec<String>,
    /// How far the lines of an item are indented; 0 outside of items.
    indent: usize,
    /// The marks that close the code block that is being read.
    fence: Option<String>,
}

impl Reader {
    fn read(&mut self, line: &str) {
        if self.indent > 0 {
            let inner = line.len() - line.trim_start_matches(' ').len();
            if line.is_empty() || inner >= self.indent.min(2) {
                self.lines.push(line.get(inner.min(self.indent)..).unwrap_or_default().to_owned());
                return;
            }
            self.close();
        }
        if let Some(fence) = &self.fence {
            // A line that says a language opens a block in the text of this one.
            let mark = |char| fence.starts_with(char);
            let closes = line.trim_start().starts_with(fence.as_str()) && line.trim().trim_matches(mark).is_empty();
            self.lines.push(line.to_owned());
            if closes {
                self.close();
            }
        } else if line.is_empty() || is_rule(line) {
            self.close();
        } else if let Some(heading) = heading(line) {
            self.close();
            self.sections.push(Section { heading, blocks: Vec::new() });
        } else if let Some(fence) = fence(line) {
            self.fence = Some(fence);
            self.lines.push(line.to_owned());
        } else if let Some(width) = marker(line) {
            self.close();
            self.indent = width;
            self.lines.push(line.get(width..).unwrap_or_default().trim().to_owned());
        } else {
            self.lines.push(line.trim_start().to_owned());
        }
    }

    /// Ends the block.
    fn close(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        let has_layout =
            self.fence.is_some() || lines.iter().any(|line| fence(line).is_some() || marker(line).is_some());
        (self.indent, self.fence) = (0, None);
        let block = lines.join(if has_layout || lines.contains(&String::new()) { "\n" } else { " " });
        if let (false, Some(section)) = (block.trim().is_empty(), self.sections.last_mut()) {
            section.blocks.push(block.trim_end().to_owned());
        }
    }
}

/// A line that only divides.
fn is_rule(line: &str) -> bool {
    let marks: Vec<char> = line.chars().filter(|char| *char != ' ').collect();
    marks.len() >= 3 && ['-', '*', '_', '='].iter().any(|mark| marks.iter().all(|char| char == mark))
}

/// The text of a heading.
fn heading(line: &str) -> Option<String> {
    let line = line.trim_start();
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    let is_heading = (1..=6).contains(&level) && (text.is_empty() || text.starts_with(' '));
    is_heading.then(|| text.trim().trim_end_matches('#').trim_end().to_owned())
}

/// The marks that open a code block.
fn fence(line: &str) -> Option<String> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|char| matches!(char, '`' | '~'))?;
    let marks: String = line.chars().take_while(|char| *char == mark).collect();
    // A code span may open with three marks, too; it ends on its line.
    let rest = line.get(marks.len()..).unwrap_or_default();
    (marks.len() >= 3 && !rest.contains('`')).then_some(marks)
}

/// The width of the mark that makes a line an item of a list.
fn marker(line: &str) -> Option<usize> {
    let text = line.trim_start_matches(' ');
    let before = line.len() - text.len();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let mark = match (digits, text.chars().next()?) {
        (0, '-' | '*' | '+') => 1,
        (1..=9, _) if text.get(digits..)?.starts_with(['.', ')']) => digits + 1,
        _ => return None,
    };
    (before <= 3 && text.get(mark..)?.starts_with(' ')).then_some(before + mark + 1)
}
