//! Names that fit their place in a figure and still tell cells apart. A name that an axis made loses the words of its
//! labels before it loses a value; a note says which words these were.

use std::collections::BTreeMap;

use crate::drawing::font::{shortened, width};
use crate::tables::settings::labels;

/// Names in the order in which they were given.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ShortNames {
    pub(crate) names: Vec<String>,
    /// What bare values stand for, as `casc[tau_pos,tau_seq]`.
    pub(crate) note: Option<String>,
}

/// A name in parts, and the words of its labels.
struct Labelled<'n> {
    base: &'n str,
    words: Vec<&'n str>,
    values: Vec<&'n str>,
}

/// Names no wider than `wide` pixels at an em of so many. Names that differ stay different.
pub(crate) fn short_names(names: &[&str], wide: f64, em: f64) -> ShortNames {
    let fits = |name: &str| width(name, em, false) <= wide;
    let mut out: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut notes: Vec<String> = Vec::new();
    let mut groups: BTreeMap<(&str, Vec<&str>), Vec<usize>> = BTreeMap::new();
    let parts: Vec<Option<Labelled<'_>>> = names.iter().map(|name| labelled(name)).collect();
    for (at, part) in parts.iter().enumerate() {
        if let Some(part) = part {
            groups.entry((part.base, part.words.clone())).or_default().push(at);
        }
    }
    for ((base, words), members) in groups {
        if members.iter().all(|&at| fits(names[at])) {
            continue;
        }
        let values = |at: usize| parts[at].as_ref().map_or(&[][..], |part| part.values.as_slice());
        let bare = |base: &str, at: usize, places: &[usize]| {
            let values: Vec<&str> = places.iter().map(|&place| values(at)[place]).collect();
            format!("{base}[{}]", values.join(","))
        };
        let all: Vec<usize> = (0..words.len()).collect();
        // What all members share tells none of them apart.
        let differing: Vec<usize> = all
            .iter()
            .copied()
            .filter(|&place| members.iter().any(|&at| values(at)[place] != values(members[0])[place]))
            .collect();
        let places = match members.iter().all(|&at| fits(&bare(base, at, &all))) || differing.is_empty() {
            true => &all,
            false => &differing,
        };
        for &at in &members {
            let full = bare(base, at, places);
            let room = wide - (width(&full, em, false) - width(base, em, false));
            out[at] = if fits(&full) { full } else { bare(&shortened(base, room, em), at, places) };
        }
        let shown: Vec<&str> = places.iter().map(|&place| words[place]).collect();
        let shared = all.iter().filter(|place| !places.contains(place));
        let shared: Vec<String> =
            shared.map(|&place| format!("{}={}", words[place], values(members[0])[place])).collect();
        let with = if shared.is_empty() { String::new() } else { format!(" with {}", shared.join(", ")) };
        notes.push(format!("{base}[{}]{with}", shown.join(",")));
    }
    for name in &mut out {
        *name = shortened(name, wide, em);
    }
    tell_apart(names, &mut out, wide, em);
    ShortNames { names: out, note: (!notes.is_empty()).then(|| notes.join("; ")) }
}

fn labelled(name: &str) -> Option<Labelled<'_>> {
    let (base, labels) = labels(name)?;
    let (words, values) = labels.iter().filter_map(|label| label.split_once('=')).unzip();
    Some(Labelled { base, words, values })
}

/// Names that were cut to the same text: they keep what differs in the middle, or get a number at the end.
fn tell_apart(names: &[&str], out: &mut [String], wide: f64, em: f64) {
    for at in 0..out.len() {
        let alike: Vec<usize> =
            (0..out.len()).filter(|&other| out[other] == out[at] && names[other] != names[at]).collect();
        if alike.is_empty() {
            continue;
        }
        let letters = |at: usize| names[at].chars().collect::<Vec<char>>();
        let own = letters(at);
        let n_begin = alike.iter().map(|&o| own.iter().zip(&letters(o)).take_while(|(a, b)| a == b).count());
        let n_begin = n_begin.min().unwrap_or(0);
        let n_end =
            |o: usize| own.iter().rev().zip(letters(o).iter().rev()).take_while(|(a, b)| a == b).count();
        let n_end = alike.iter().map(|&o| n_end(o)).min().unwrap_or(0).min(own.len() - n_begin);
        // One letter before what differs, so that it is seen where it stands.
        let middle: String = own[n_begin.saturating_sub(1)..own.len() - n_end].iter().collect();
        let begin: String = own.iter().take(6.min(n_begin.saturating_sub(1))).collect();
        let cut = format!("{begin}…{middle}");
        let is_free = |text: &str, out: &[String]| !out.iter().any(|other| other == text);
        out[at] = if width(&cut, em, false) <= wide && is_free(&cut, out) {
            cut
        } else {
            let numbered = |n: usize| {
                let sign = format!("#{n}");
                format!("{}{sign}", shortened(names[at], wide - width(&sign, em, false), em))
            };
            (1..=names.len())
                .map(numbered)
                .find(|text| is_free(text, out))
                .unwrap_or_else(|| numbered(at + 1))
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EM: f64 = 15.7;

    fn distinct(names: &[String]) -> bool {
        (1..names.len()).all(|at| !names[..at].contains(&names[at]))
    }

    #[test]
    fn names_that_fit_stay_as_they_are() {
        let names = ["ar", "casc[tau_pos=0.7,tau_seq=0.6]"];
        let short = short_names(&names, 1000.0, EM);
        assert_eq!(short, ShortNames { names: names.map(str::to_owned).to_vec(), note: None });
    }

    #[test]
    fn a_sweep_over_two_axes_keeps_both_values_of_every_cell() {
        let names: Vec<String> = [0.6, 0.7, 0.8, 0.9]
            .iter()
            .flat_map(|a| [0.4, 0.5, 0.6, 0.7].map(|b| format!("casc[tau_pos={a},tau_seq={b}]")))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let short = short_names(&names, 165.0, EM);
        assert_eq!((short.names[0].as_str(), short.names[15].as_str()), ("casc[0.6,0.4]", "casc[0.9,0.7]"));
        assert!(distinct(&short.names), "{:?}", short.names);
        assert_eq!(short.note.as_deref(), Some("casc[tau_pos,tau_seq]"));
    }

    #[test]
    fn what_all_cells_share_goes_before_what_differs_and_the_base_before_a_value() {
        let names = [
            "budget[tau_pos=0.85,top_k=1000,tvd_budget=0.001]",
            "budget[tau_pos=0.85,top_k=1000,tvd_budget=0.5]",
        ];
        let short = short_names(&names, 125.0, EM);
        assert_eq!(short.names, ["budget[0.001]", "budget[0.5]"]);
        assert_eq!(short.note.as_deref(), Some("budget[tvd_budget] with tau_pos=0.85, top_k=1000"));
        let tight = short_names(&names, 90.0, EM).names;
        assert!(tight[0].ends_with("[0.001]") && distinct(&tight), "{tight:?}");
    }

    #[test]
    fn long_names_that_differ_stay_different() {
        let long = |n: &str| format!("a-very-long-name-of-a-method-{n}-with-a-very-long-ending");
        for wide in [60.0, 120.0, 170.0] {
            let names: Vec<String> = ["1", "22", "3x3"].iter().map(|n| long(n)).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let short = short_names(&names, wide, EM).names;
            assert!(distinct(&short), "{short:?}");
            assert!(short.iter().all(|name| width(name, EM, false) <= wide), "{short:?}");
        }
    }
}
