//! Every writer shows the same table, and none lets a text act as markup, formula or terminal control.

#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

use insta::assert_snapshot;
use specimen_report::table::{Block, Column, Entry, Rank, Section, Table, html_page, with_interval};

fn number(text: String, rank: Rank) -> Entry {
    Entry { text, rank }
}

/// Two blocks, a footnote, a best and a second.
fn table() -> Table {
    let mut table = Table {
        id: "made-up".into(),
        head: vec!["Made up, 50 % of it & more.".into(), "n = 32 images a cell; fid@v1.".into()],
        marked: Some("of its block.".into()),
        legend: vec!["Speedup: time over time.".into()],
        sections: vec![
            Section { first_row: 0, title: "LlamaGen_XL on COCO".into() },
            Section { first_row: 4, title: "Lumina".into() },
        ],
        ..Table::default()
    };
    let mark = table.footnote("it drafts nothing");
    let again = table.footnote("it drafts nothing");
    assert_eq!(mark, again);
    let names = ["ar", "naive", "lantern++", "cascade", "ar"];
    table.push(Column::text("method"), names.map(Entry::plain).to_vec());
    let speed = [
        number("1.00".into(), Rank::None),
        number(with_interval(1.8, Some([1.7, 1.95]), 2, true), Rank::None),
        number(with_interval(1.9, Some([1.8, 2.0]), 2, true), Rank::Second),
        number(with_interval(3.3, Some([3.2, 3.4]), 2, true), Rank::Best),
        number(format!("—{mark}"), Rank::None),
    ];
    table.push(Column::number("speedup", "×", Some(true)), speed.to_vec());
    let fid = ["40.5 ± 0.2", "40.8 ± 0.2", "42.1 ± 0.3", "40.4 ± 0.2", "29.4 ± 0.2"];
    table.push(Column::number("fid", "", Some(false)), fid.map(Entry::plain).to_vec());
    table
}

#[test]
fn markdown_reads_as_printed() {
    assert_snapshot!(table().markdown());
}

#[test]
fn a_terminal_shows_it_as_printed() {
    assert_snapshot!(table().text(60));
}

#[test]
fn csv_reads_as_printed() {
    assert_snapshot!(table().csv());
}

#[test]
fn latex_reads_as_printed() {
    assert_snapshot!(table().latex());
}

#[test]
fn html_reads_as_printed() {
    assert_snapshot!(table().html());
}

#[test]
fn a_page_has_its_style_and_light_and_dark() {
    let page = html_page("a & b", &[Block::Words("x < y".to_owned()), Block::Table(table())]);
    for part in ["<title>a &amp; b</title>", "<style>", "color-scheme: light dark", "<p>x &lt; y</p>"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.contains(&table().html()) && !page.contains("<script"), "the table as it is");
}

/// A table of one entry with this text, as row, head, heading and footnote alike.
fn hostile(text: &str) -> Table {
    let mut table = Table {
        head: vec![text.into()],
        legend: vec![text.into()],
        marked: Some(text.into()),
        sections: vec![Section { first_row: 0, title: text.into() }],
        ..Table::default()
    };
    table.footnote(text);
    table.push(
        Column { name: text.into(), unit: text.into(), ..Column::default() },
        vec![number(text.into(), Rank::Best)],
    );
    table
}

#[test]
fn nothing_steers_a_terminal_whoever_writes() {
    let table = hostile("a\u{1b}[2J\u{9b}1mb\r\u{7}c\u{202e}d");
    for out in [table.markdown(), table.text(80), table.csv(), table.latex(), table.html()] {
        let steering = out.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        assert_eq!(steering, None, "{out:?}");
    }
}

#[test]
fn html_holds_no_element_that_the_writer_did_not_make() {
    let out = hostile("<script>alert(\"x\")</script><img src=x onerror='y'>&amp;").html();
    assert!(!out.contains("<script") && !out.contains("<img"), "{out}");
    assert!(
        out.contains("&lt;script&gt;alert(&quot;x&quot;)") && out.contains("&#39;y&#39;&gt;&amp;amp;"),
        "{out}"
    );
}

#[test]
fn latex_holds_no_command_that_the_writer_did_not_make() {
    let out = hostile("\\input{x} 50% $x_1^2$ #1 ~ {a} [b] & c").latex();
    for part in [
        "\\textbackslash{}input\\{x\\} 50\\% \\$x\\_1\\textasciicircum{}2\\$",
        "\\#1 \\textasciitilde{} \\{a\\} {[}b{]} \\& c",
    ] {
        assert!(out.contains(part), "{part} is not in {out}");
    }
    assert!(!out.contains("\\input"), "{out}");
}

#[test]
fn csv_holds_no_formula() {
    let out = hostile("=HYPERLINK(\"http://x\",\"y\")").csv();
    for line in out.lines() {
        assert!(line.starts_with("block") || line.starts_with("\"'=HYPERLINK(\"\"http"), "{out}");
    }
}

#[test]
fn markdown_columns_stay_columns() {
    let out = hostile("a|b *c* `d` <i> [x](y)").markdown();
    assert!(out.contains("a\\|b \\*c\\* \\`d\\` \\<i> [x]\\(y)"), "{out}");
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    assert!(out.lines().filter(|line| line.starts_with('|')).all(|line| bars(line) == 2), "{out}");
}

#[test]
fn a_table_without_rows_or_columns_says_so() {
    assert!(Table::default().text(80).contains("There are no rows."));
    assert!(Table::default().markdown().contains("There are no rows."));
    assert_eq!(Table::default().csv().lines().count(), 1);
}

#[test]
fn a_long_text_is_wrapped_in_its_column_where_the_terminal_is_narrow() {
    let mut table = Table::default();
    let evidence =
        "accepted 2.7 of cascade against 1.3 of naive over 24 prompts: +107.7 % [98.1, 117.3], 10 % allowed";
    table.push(Column::text("claim"), vec![Entry::plain("cascade accepts more"), Entry::plain("short")]);
    table.push(Column::text("verdict"), vec![Entry::plain("holds"), Entry::plain("holds")]);
    table.push(Column::text("evidence"), vec![Entry::plain(evidence), Entry::plain("none")]);
    let text = table.text(80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let column = text.find("evidence").unwrap();
    let row: Vec<&str> = text.lines().skip(3).take_while(|line| !line.starts_with("short")).collect();
    let tail = |line: &&str| line.get(column - 1..).unwrap_or_default().to_owned();
    assert_eq!(words(&row.iter().map(tail).collect::<Vec<_>>().join(" ")), words(evidence), "{text}");
    assert_eq!(text.matches("claim").count(), 1, "it is one panel: {text}");
    assert_eq!(table.text(usize::MAX).lines().filter(|line| line.contains("[98.1, 117.3], 10 %")).count(), 1);
}
