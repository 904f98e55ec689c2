//! The page works in a real browser: opened from a file it shows everything, says nothing on the console, sorts,
//! flips and looks closer, and stays inside a narrow window. The browser alone is enough: a page beside it drives
//! it in a frame, and what it found is read from the document that `--dump-dom` prints; no driver and no package
//! is installed. Skipped where there is no Chromium.

use crate::fixture;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use specimen_report::{Options, Quality, report};

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// The browser that `CHROMIUM` names, or the first of [`NAMES`] on the path.
fn browser() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|file| file.is_file())
}

#[test]
fn the_page_sorts_flips_and_looks_closer_in_a_browser() {
    let Some(browser) = browser() else {
        let test = "the_page_sorts_flips_and_looks_closer_in_a_browser";
        return specimen_testdata::skip(test, "a Chromium on the path or named by CHROMIUM");
    };
    let folder = tempfile::tempdir().unwrap();
    let mut prompts = fixture::PROMPTS;
    prompts[0] = "<script>window.pwned = 1</script> & \u{2028} \"quoted\"";
    prompts[1] = "</script><img src=x onerror=\"window.pwned = 2\">";
    let run = fixture::run_of(folder.path(), &prompts, fixture::picture);
    let options = Options::new(Quality::Difference("target-nll".into()), 3);
    let made = report(&run, &options).unwrap();
    let driver = made.page.with_file_name("driver.html");
    fs::write(&driver, include_str!("browser/driver.html")).unwrap();
    let ran = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .args(["--enable-logging=stderr", "--allow-file-access-from-files", "--virtual-time-budget=60000"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", driver.display()))
        .output()
        .unwrap();
    let (dom, log) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    let said: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(said.is_empty(), "the console says {said:?}");
    let verdict = dom.split("<pre id=\"verdict\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    let verdict = verdict.unwrap_or_else(|| panic!("no verdict in {dom}\n{log}"));
    let lines: Vec<&str> = verdict.lines().collect();
    let wrong: Vec<&&str> = lines.iter().filter(|line| !line.starts_with("ok ")).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(lines.last(), Some(&"ok end"), "{lines:#?}");
}
