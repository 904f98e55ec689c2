//! A document of headings, words, tables and pictures, as Markdown and as one HTML page.

use crate::table::{Table, html, markdown};

/// What is in a document, from top to bottom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A heading: 1 is the document's title.
    Heading(u8, String),
    /// A paragraph.
    Words(String),
    /// A table.
    Table(Table),
    /// A picture in a file.
    Picture {
        /// Path of the file from the document's folder; letters, digits, `-`, `_`, `.` and `/`.
        path: String,
        /// What it shows.
        caption: String,
    },
}

/// As Markdown.
pub fn markdown_page(blocks: &[Block]) -> String {
    let texts = blocks.iter().map(|block| match block {
        Block::Heading(level, text) => {
            format!("{} {}\n", "#".repeat(usize::from(*level)), markdown::escape(text))
        }
        Block::Words(text) => format!("{}\n", markdown::escape(text)),
        Block::Table(table) => table.markdown().trim_start().to_owned(),
        Block::Picture { path, caption } => {
            let caption = markdown::escape(caption);
            format!("![{}]({path})\n\n{caption}\n", caption.replace(['[', ']'], ""))
        }
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// As an HTML page that needs nothing but its pictures, light or dark as the reader's screen is.
pub fn html_page(title: &str, blocks: &[Block]) -> String {
    let texts = blocks.iter().map(|block| match block {
        Block::Heading(level, text) => format!("<h{level}>{}</h{level}>\n", html::escape(text)),
        Block::Words(text) => format!("<p>{}</p>\n", html::escape(text)),
        Block::Table(table) => table.html(),
        Block::Picture { path, caption } => {
            let caption = html::escape(caption);
            format!(
                "<figure>\n<img src=\"{}\" alt=\"{caption}\">\n<p>{caption}</p>\n</figure>\n",
                html::escape(path)
            )
        }
    });
    html::page(title, &texts.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks() -> Vec<Block> {
        vec![
            Block::Heading(1, "A | B".to_owned()),
            Block::Words("Less than 1: a < b.".to_owned()),
            Block::Picture { path: "figures/a.svg".to_owned(), caption: "It \"rises\" [1]".to_owned() },
        ]
    }

    #[test]
    fn words_are_no_markup_in_either_form() {
        let text = markdown_page(&blocks());
        assert_eq!(
            text,
            "# A \\| B\n\nLess than 1: a \\< b.\n\n![It \"rises\" 1](figures/a.svg)\n\nIt \"rises\" [1]\n"
        );
        let page = html_page("A", &blocks());
        for part in
            ["<h1>A | B</h1>", "a &lt; b", "alt=\"It &quot;rises&quot; [1]\"", "<img src=\"figures/a.svg\""]
        {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}
