//! Splits a text into its YAML documents.

/// A document of a text.
pub struct Document {
    /// Its first line in the text, from 1.
    pub line: usize,
    pub text: String,
}

/// The documents of a text, including empty ones. Text on the line of a marker belongs to the next document.
pub fn documents(text: &str) -> Vec<Document> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut current = Document {
        line: 1,
        text: String::new(),
    };
    let mut documents = Vec::new();
    for (i, line) in text.lines().enumerate() {
        match line.strip_prefix("---") {
            Some(rest) if rest.is_empty() || rest.starts_with([' ', '\t']) => {
                let text = format!("{}\n", rest.trim_start());
                documents.push(std::mem::replace(&mut current, Document { line: i + 1, text }));
            }
            // The line stays, so that lines are counted right.
            _ if line.trim_end() == "..." => current.text.push('\n'),
            _ => {
                current.text.push_str(line);
                current.text.push('\n');
            }
        }
    }
    documents.push(current);
    documents
}

pub fn is_blank(text: &str) -> bool {
    text.lines()
        .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
}
