//! Making the next piece of something while the last one is used, in the thread pool of the caller.

use std::sync::mpsc::{RecvTimeoutError, TryRecvError, channel};
use std::time::Duration;

/// How long a thread of the pool that waits for another one sleeps before it looks for work again.
const NAP: Duration = Duration::from_millis(1);

/// Makes a thing of each of `pieces`, one ahead, and gives it to `take`, in their order. Ends with the first failure of
/// `take`. `make` runs in the pool of the caller, also where that has one thread only.
pub(crate) fn prefetch<P: Sync, T: Send, E>(
    pieces: &[P],
    make: impl Fn(&P) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    rayon::in_place_scope(|scope| {
        let make = &make;
        let start = |piece| {
            let (sender, receiver) = channel();
            scope.spawn(move |_| {
                // Nobody takes it any more where `take` failed.
                drop(sender.send(make(piece)));
            });
            receiver
        };
        let mut pieces = pieces.iter();
        let mut next = pieces.next().map(start);
        while let Some(receiver) = next {
            let made = loop {
                match receiver.try_recv() {
                    Ok(made) => break made,
                    // `make` panicked, and the scope goes on with that.
                    Err(TryRecvError::Disconnected) => return Ok(()),
                    Err(TryRecvError::Empty) => {}
                }
                // A thread of the pool helps, for it may be the only one.
                if rayon::yield_now() == Some(rayon::Yield::Executed) {
                    continue;
                }
                match receiver.recv_timeout(NAP) {
                    Ok(made) => break made,
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
                }
            };
            next = pieces.next().map(start);
            take(made)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use rayon::prelude::*;

    use super::*;

    /// Squares, each with the size of the pool that it was made in.
    fn squares(n: u64) -> Vec<(u64, Option<usize>)> {
        let mut taken = Vec::new();
        let numbers: Vec<u64> = (0..n).collect();
        let make = |&x: &u64| {
            let square = (0..x).into_par_iter().map(|_| x).sum::<u64>();
            (square, rayon::current_thread_index().map(|_| rayon::current_num_threads()))
        };
        prefetch(&numbers, make, |made| {
            taken.push(made);
            Ok::<(), ()>(())
        })
        .unwrap();
        taken
    }

    #[test]
    fn pieces_are_made_in_the_pool_of_the_caller_and_taken_in_order() {
        for n_threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
            let expected: Vec<_> = (0..20).map(|x| (x * x, Some(n_threads))).collect();
            assert_eq!(pool.install(|| squares(20)), expected);
        }
        assert_eq!(squares(3).iter().map(|(square, _)| *square).collect::<Vec<_>>(), [0, 1, 4]);
        assert!(squares(0).is_empty());
    }

    #[test]
    fn the_first_failure_ends_it() {
        let mut n_taken = 0;
        let failed = prefetch(
            &[1, 2, 3],
            |&x| x,
            |x| {
                n_taken += 1;
                if x == 2 { Err("two") } else { Ok(()) }
            },
        );
        assert_eq!((failed, n_taken), (Err("two"), 2));
    }
}
