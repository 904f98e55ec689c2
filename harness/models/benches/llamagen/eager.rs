//! The same networks in eager PyTorch: `llamagen_eager.py` as a process of its own, which computes when it is asked
//! and sleeps while we do.

use std::{
    io::{BufRead, BufReader, Lines, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use tch::Kind;

/// How far the first distributions may be apart, in total variation: bf16 keeps 8 bits of a logit.
const CLOSE: [(Kind, f64); 2] = [(Kind::Float, 1e-4), (Kind::BFloat16, 0.05)];

/// The process.
pub(crate) struct Eager {
    child: Child,
    questions: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    kind: Kind,
}

impl Eager {
    /// Starts it with the Python `program`.
    pub(crate) fn start(program: &str, kind: Kind) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/llamagen_eager.py");
        let name = if kind == Kind::Float { "f32" } else { "bf16" };
        let mut child = Command::new(program)
            .args([script, name, "answer"])
            .env("OMP_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{program}: {error}"));
        let questions = child.stdin.take().expect("it was piped");
        let answers = BufReader::new(child.stdout.take().expect("it was piped")).lines();
        Self { child, questions, answers, kind }
    }

    fn ask(&mut self, question: &str) -> Vec<f64> {
        writeln!(self.questions, "{question}").expect("llamagen_eager.py takes a question");
        let answer = self.answers.next().expect("llamagen_eager.py answers").expect("with a line");
        answer.split(' ').map(|number| number.parse().expect("of numbers")).collect()
    }

    /// Makes the network called `name`, whose first distribution must be `ours`.
    pub(crate) fn open(&mut self, name: &str, ours: &[f32]) {
        let theirs = self.ask(&format!("open {name}"));
        assert_eq!(ours.len(), theirs.len(), "{name}: probabilities of a distribution");
        let apart: f64 =
            ours.iter().zip(theirs).map(|(&ours, theirs)| (f64::from(ours) - theirs).abs()).sum();
        let close = CLOSE.iter().find(|(kind, _)| *kind == self.kind).expect("both kinds are listed").1;
        assert!(apart / 2.0 <= close, "{name}: our first distribution and theirs are {} apart", apart / 2.0);
        println!("{name}: the first distributions are {:.1e} apart", apart / 2.0);
    }

    /// Milliseconds of a prefill.
    pub(crate) fn prefill(&mut self) -> f64 {
        self.ask("prefill")[0]
    }

    /// Milliseconds of `n` steps from the image position `from` on.
    pub(crate) fn steps(&mut self, from: usize, n: usize) -> Vec<f64> {
        self.ask(&format!("steps {from} {n}"))
    }
}

impl Drop for Eager {
    fn drop(&mut self) {
        // It would end by itself once its questions end; nobody waits for that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
