//! Prompts as text: PartiPrompts' tab-separated file, those of GenEval and DPG-Bench, and the prompt files (lines, CSV, JSON
//! lines).
#![no_main]

use libfuzzer_sys::fuzz_target;
use specimen_datasets::{dpg, geneval, parti, prompts_file};
use specimen_fuzz::with_file;

fuzz_target!(|bytes: &[u8]| {
    with_file("PartiPrompts.tsv", bytes, |path| {
        if let Ok(set) = parti::read(path, "fuzz") {
            assert!(set.prompts().iter().all(|prompt| !prompt.text.contains(['\t', '\n'])), "a field is one field");
        }
    });
    with_file("evaluation_metadata.jsonl", bytes, |path| {
        if let Ok(set) = geneval::read(path, "fuzz") {
            assert!(set.prompts().iter().all(|prompt| prompt.task.is_some()), "a prompt has a task");
        }
    });
    with_file("dpg_bench.csv", bytes, |path| {
        if let Ok(set) = dpg::read(path, "fuzz") {
            assert!(set.n_prompts() > 0, "a set has prompts");
        }
    });
    for name in ["prompts.txt", "prompts.csv", "prompts.jsonl"] {
        with_file(name, bytes, |path| {
            if let Ok(set) = prompts_file::read(path, "fuzz") {
                assert!(set.n_prompts() > 0, "a set has prompts");
            }
        });
    }
});
