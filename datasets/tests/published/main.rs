//! What must hold on the published files: counts, digests and selections that were measured with other
//! tools. Each test is skipped aloud where its file is absent.
#![allow(clippy::unwrap_used)] // a test may panic

mod coco_captions;
mod files_on_disk;
mod parti_prompts;
mod presence;
