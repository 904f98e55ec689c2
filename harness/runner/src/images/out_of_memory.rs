//! An allocation that failed, answered with what the plan reckons with and what would fit.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use specimen_catalog::memory::smaller_relatives;
use specimen_decode::method::MethodConfig;
use specimen_experiments::spec::{Dtype, ModelSpec};
use specimen_foundation::failure;
use specimen_weights::{
    device_lost::DeviceLost,
    out_of_memory::{OutOfMemory, in_units},
};

use crate::error::RunError;

/// What `compute` gives; where it runs out of memory, an error that says what `model` takes and what would
/// fit. `method` is what drafts, absent while weights are loaded. A GPU that is lost is an error too; other panics go
/// on.
pub fn within_memory<T>(
    model: &ModelSpec,
    method: Option<&MethodConfig>,
    compute: impl FnOnce() -> Result<T, RunError>,
) -> Result<T, RunError> {
    catch_unwind(AssertUnwindSafe(compute)).unwrap_or_else(|payload| {
        if let Some(lost) = DeviceLost::of_panic(&*payload) {
            return Err(lost.into());
        }
        match OutOfMemory::of_panic(&*payload) {
            Some(failure) => Err(failure!(Environment: "{}", words(&failure, model, method)).into()),
            None => resume_unwind(payload),
        }
    })
}

/// The failure, what the cell takes, and what takes less.
fn words(failure: &OutOfMemory, model: &ModelSpec, method: Option<&MethodConfig>) -> String {
    let head = method.and_then(|method| method.drafter.head());
    let takes = |dtype: Dtype| model.need(head, dtype);
    let mut text = format!("{failure}; `{}` in {} ", model.name, name_of(model.dtype));
    let Some(need) = takes(model.dtype) else {
        text.push_str("has no estimate. ");
        return text + &smaller(failure, model, method);
    };
    let (weights, kv) = (in_units(need.weights), in_units(need.keys_and_values));
    text.push_str(&format!(
        "takes about {} besides its activations: {weights} of weights{}, {kv} of keys and values. ",
        in_units(need.total()),
        if head.is_some() { ", its head's among them" } else { "" },
    ));
    let Some(memory) = failure.room() else { return text + &smaller(failure, model, method) };
    if need.total() <= memory {
        text.push_str(&format!("That would fit in the {} that this process can have. ", in_units(memory)));
        return text + &smaller(failure, model, method);
    }
    let narrow = (model.dtype == Dtype::F32).then(|| takes(Dtype::Bf16)).flatten();
    let narrow = narrow.map(|need| ("dtype = \"bf16\"".to_owned(), need.total()));
    let relatives = smaller_relatives(&model.name, model.dtype.n_bytes()).into_iter();
    let relatives = relatives.map(|(name, bytes)| (format!("model `{name}`"), bytes));
    let fitting: Vec<String> = narrow
        .into_iter()
        .chain(relatives)
        .filter(|&(_, bytes)| bytes <= memory)
        .map(|(what, bytes)| format!("{what} ({})", in_units(bytes)))
        .collect();
    let fitting = if fitting.is_empty() { "nothing of its family".to_owned() } else { fitting.join(", ") };
    text.push_str(&format!(
        "In the {} that this process can have, these would fit: {fitting}. ",
        in_units(memory)
    ));
    text + &smaller(failure, model, method)
}

/// What takes less whatever the model.
fn smaller(failure: &OutOfMemory, model: &ModelSpec, method: Option<&MethodConfig>) -> String {
    let n_nodes = method.map_or(1, MethodConfig::max_tree_nodes);
    let tree = (1 < n_nodes).then(|| format!("a draft tree of fewer than {n_nodes} nodes"));
    let workers = match failure.gpu {
        Some(_) => "one worker on each GPU, and no other program there",
        None => "fewer workers (--workers), and fewer models in one run",
    };
    let batch = model.n_together();
    let fewer = (1 < batch).then(|| format!("a batch of fewer than {batch} images"));
    let less: Vec<String> = fewer.into_iter().chain(tree).chain([workers.to_owned()]).collect();
    let is_single =
        if batch == 1 { "; images are decoded one by one, so there is no batch to shrink" } else { "" };
    format!("Less memory is taken by {}{is_single}", less.join(", by "))
}

fn name_of(dtype: Dtype) -> &'static str {
    Dtype::ALL.iter().find(|(_, known)| *known == dtype).expect("every dtype has a name").0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use specimen_experiments::parse::SpecText;
    use specimen_foundation::failure::{Failure, FailureKind};

    use super::*;

    fn model(name: &str, dtype: Dtype) -> ModelSpec {
        ModelSpec {
            name: name.to_owned(),
            dtype,
            device: "cuda:0".to_owned(),
            weights: None,
            three_way_guidance: false,
            graphs: None,
            batch: None,
            heads: std::collections::BTreeMap::new(),
            rehearsed: None,
        }
    }

    /// The method of the cell `drafter` describes.
    fn method(drafter: &str) -> MethodConfig {
        let text = format!(
            "schema = 1\nname = \"m\"\nseed = 1\nanalysis = \"memory\"\n[dataset]\nname = \"scenes-val\"\nlimit = 1\n\
             [model]\nname = \"stub\"\ndtype = \"f32\"\n[sampling]\ntemperature = 1.0\ntop_k = 0\ntop_p = 1.0\n\
             guidance = 2.0\n[timing]\nwarmup = 1\nblocks = 1\n[[cell]]\nname = \"c\"\ndrafter = {drafter}\n"
        );
        SpecText::parse("m.toml", &text).unwrap().resolve().unwrap().cells[0].method.clone()
    }

    /// A GPU of `total` GiB of which this process has all but what is free.
    fn failure(total: f64, free: f64) -> OutOfMemory {
        let text = format!(
            "CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of {total:.2} GiB of which \
             {free:.2} GiB is free. Including non-PyTorch memory, this process has {:.2} GiB memory in use. ",
            total - free
        );
        OutOfMemory::of_message(&text).unwrap()
    }

    #[track_caller]
    fn check(said: &str, parts: &[&str]) {
        for part in parts {
            assert!(said.contains(part), "`{part}` is not in: {said}");
        }
    }

    #[test]
    fn a_model_that_is_too_large_is_answered_with_what_would_fit() {
        let eagle = method("{ proposer = \"eagle1\", shape = \"static\", tree = \"mc_sim_7b_63\" }");
        let said = words(&failure(24.0, 0.1), &model("janus-pro-7b", Dtype::F32), Some(&eagle));
        check(
            &said,
            &[
                "out of memory on cuda:0 (asked for 536.9 MB, free 107.4 MB, in all 25.8 GB, ",
                "`janus-pro-7b` in f32 takes about ",
                "its head's among them",
                "would fit: dtype = \"bf16\" (",
                "model `janus-pro-1b` (",
                "a draft tree of fewer than 26 nodes",
                "one worker on each GPU",
            ],
        );
        let said = words(&failure(1.0, 0.1), &model("anole-7b", Dtype::Bf16), None);
        check(&said, &["`anole-7b` in bf16 takes about 1", "would fit: nothing of its family", "one worker"]);
        assert!(!said.contains("draft tree"), "{said}");
    }

    #[test]
    fn a_model_that_fits_is_not_blamed() {
        let said = words(&failure(80.0, 79.0), &model("janus-pro-1b", Dtype::Bf16), None);
        check(&said, &["takes about 3.", "That would fit in the 85.9 GB", "one worker on each GPU"]);
    }

    #[test]
    fn a_model_without_an_estimate_says_so() {
        let said = words(&failure(24.0, 0.1), &model("tiny", Dtype::F32), None);
        check(&said, &["`tiny` in f32 has no estimate", "Less memory is taken by one worker"]);
    }

    #[test]
    fn a_failure_of_libtorch_is_an_error_with_its_answer_and_other_panics_go_on() {
        let spec = model("llamagen-t2i-xl-512", Dtype::F32);
        // The words of libtorch, which `specimen_weights` tests against a real failure.
        let fails = || -> Result<(), RunError> {
            panic!(
                "Torch(\"[enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory: \
                 you tried to allocate {} bytes. Error code 12 (Cannot allocate memory)\")",
                1_u64 << 50
            )
        };
        let error = within_memory(&spec, None, fails).unwrap_err();
        check(
            &error.to_string(),
            &[
                "out of memory on the CPU (asked for 1125.9 TB, free",
                "`llamagen-t2i-xl-512` in f32 takes about",
                "--workers",
            ],
        );
        assert_eq!(error.kind(), Some(FailureKind::Environment));
        assert_eq!(within_memory(&spec, None, || Ok(3)).unwrap(), 3);
        let lost = within_memory::<()>(&spec, None, || panic!("CUDA error: unspecified launch failure"));
        assert!(matches!(lost, Err(RunError::DeviceLost(_))));
        let other = catch_unwind(|| within_memory::<()>(&spec, None, || panic!("a bug"))).unwrap_err();
        assert_eq!(other.downcast_ref::<&str>(), Some(&"a bug"));
    }
}
