//! The plan on disk: keys and digest are those of the plan that it was made from.

use specimen_datasets::{Prompt, PromptId, PromptSet};
use specimen_experiments::{
    parse::SpecText,
    plan::{self, Plan},
};
use specimen_record::{Item, ItemKey, PlanFile, Seed};

const SPEC: &str = r#"schema = 1
name = "s"
seed = 42
analysis = "first"
dataset = { name = "p.txt" }
model = { name = "tiny", dtype = "bf16" }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 3.0 }
timing = { warmup = 2, blocks = 4 }
[[cell]]
name = "ar"
[[cell]]
name = "sd"
drafter = { proposer = "eagle1", shape = "chain", depth = 3 }
[[cell]]
name = "images"
timed = false
drafter = { proposer = "eagle1", shape = "chain", depth = 2 }
"#;

#[test]
fn the_record_of_a_run_gives_the_same_keys_and_the_same_digest() {
    let ids = ["7", "a b", "ü", "x/y".trim_end_matches("/y"), ".z", "50%", "a+b[c=1,d]"];
    let prompt = |id: &&str| Prompt::new(PromptId::new(*id).unwrap(), "line\n\"ü\"");
    let spec = SpecText::parse("s.toml", SPEC).unwrap().resolve().unwrap();
    let prompts = PromptSet::new("p.txt", ids.iter().map(prompt).collect()).unwrap();
    let plan = Plan::new(spec, &prompts).unwrap();
    let items: Vec<_> = plan.items.iter().map(|item| recorded(&plan, item)).collect();
    for (item, recorded) in plan.items.iter().zip(&items) {
        assert_eq!(plan.key(item), recorded.key.as_str());
    }
    let digest = PlanFile::digest_of(&items, &plan.spec.identity());
    assert_eq!(plan.digest, digest.as_str());
}

fn recorded(plan: &Plan, item: &plan::Item) -> Item {
    let (cell, prompt) = (plan.cell_name(item), &plan.prompts[item.prompt as usize]);
    Item {
        key: ItemKey::new(cell, &prompt.id, item.sample),
        cell: cell.to_owned(),
        prompt_id: prompt.id.clone(),
        sample: item.sample,
        seed: Seed(item.seed),
        block: item.block,
        prompt: prompt.text.clone(),
    }
}
