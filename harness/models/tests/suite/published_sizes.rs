//! The published configurations, number by number: what no file of a
//! model says and no shape of its tensors gives away.

use specimen_catalog::{Family, entry};
use specimen_models::{
    families::{
        chameleon::{ChameleonConfig, VqganConfig},
        emu3::{Emu3Config, Emu3VqConfig},
        igpt::IgptConfig,
        janus::JanusConfig,
        liquid::LiquidConfig,
        llamagen::{Condition, LlamaGenConfig, LlamaGenWeights, t5::T5Config},
    },
    picture::vq16::Vq16Config,
};

#[test]
fn llamagens_sizes_are_those_published() {
    let caption = Condition::Caption { n_slots: 120, d_caption: 2048 };
    let class = Condition::Class { n_classes: 1000 };
    for (name, [n_layers, n_heads, d_model, d_ffn, grid], condition) in [
        ("llamagen-c2i-b-256", [12, 12, 768, 2048, 16], class),
        ("llamagen-c2i-b-384", [12, 12, 768, 2048, 24], class),
        ("llamagen-c2i-l-256", [24, 16, 1024, 2816, 16], class),
        ("llamagen-c2i-l-384", [24, 16, 1024, 2816, 24], class),
        ("llamagen-c2i-xl-384", [36, 20, 1280, 3584, 24], class),
        ("llamagen-t2i-xl-256", [36, 20, 1280, 3584, 16], caption),
        ("llamagen-t2i-xl-512", [36, 20, 1280, 3584, 32], caption),
    ] {
        let (n_vocab, rope_base, norm_eps) = (16_384, 10_000.0, 1e-5);
        let expected = LlamaGenConfig {
            n_layers,
            n_heads,
            d_model,
            d_ffn,
            n_vocab,
            grid,
            condition,
            rope_base,
            norm_eps,
        };
        let found = LlamaGenWeights::of(entry(name).unwrap());
        assert_eq!(
            (found.config, found.vq, found.text),
            (expected, Vq16Config::PUBLISHED, T5Config::FLAN_XL)
        );
    }
    let is_published = |family| {
        move |(model, target): &(&specimen_catalog::Entry, &specimen_catalog::Target)| {
            target.family == family && !model.files.is_empty()
        }
    };
    assert_eq!(entry::targets().filter(is_published(Family::Llamagen)).count(), 7);
}

#[test]
fn the_sizes_of_janus_are_those_published() {
    for (name, [n_layers, n_heads, d_model, d_ffn]) in
        [("janus-pro-1b", [24, 16, 2048, 5632]), ("janus-pro-7b", [30, 32, 4096, 11_008])]
    {
        let expected = JanusConfig {
            n_layers,
            n_heads,
            d_model,
            d_ffn,
            n_words: 102_400,
            n_vocab: 16_384,
            d_code: 8,
            grid: 24,
            n_positions: 16_384,
            pad: 100_015,
            rope_base: 10_000.0,
            norm_eps: 1e-6,
        };
        assert_eq!(JanusConfig::of(entry(name).unwrap()), expected, "{name}");
    }
}

#[test]
fn the_sizes_of_emu3_are_those_published() {
    let expected = Emu3Config {
        n_layers: 32,
        n_heads: 32,
        n_kv_heads: 8,
        d_model: 4096,
        d_ffn: 14_336,
        n_words: 184_622,
        n_codes: 32_768,
        rows: 90,
        columns: 90,
        n_positions: 9216,
        rope_base: 1e6,
        norm_eps: 1e-5,
    };
    assert_eq!(Emu3Config::of(entry("emu3-gen-8b").unwrap()), expected);
    let Emu3VqConfig { n_codes, d_code, channels, widths, n_blocks, attended } = Emu3VqConfig::PUBLISHED;
    assert_eq!(([n_codes, d_code, channels], n_blocks), ([32_768, 4, 256], 2));
    assert_eq!((widths, attended), (&[1, 2, 2, 4][..], &[3][..]));
}

#[test]
fn the_sizes_of_liquid_are_those_published() {
    let expected = LiquidConfig {
        n_layers: 28,
        n_heads: 16,
        d_model: 3072,
        d_head: 256,
        d_ffn: 24_576,
        n_words: 256_000 + 8192,
        n_vocab: 8192,
        grid: 32,
        n_positions: 8192,
        rope_base: 10_000.0,
        norm_eps: 1e-6,
    };
    assert_eq!(LiquidConfig::of(entry("liquid-7b").unwrap()), expected);
}

#[test]
fn the_other_sizes_are_those_published() {
    let ChameleonConfig { n_words, d_model, n_layers, n_heads, d_head, d_ffn, n_positions, .. } =
        ChameleonConfig::CHAMELEON_7B;
    assert_eq!(
        [n_words, d_model, n_layers, n_heads, d_head, d_ffn, n_positions],
        [65_536, 4096, 32, 32, 128, 11_008, 4096]
    );
    let ChameleonConfig { rope_base, norm_eps, swin_norm, .. } = ChameleonConfig::CHAMELEON_7B;
    assert_eq!((rope_base, norm_eps, swin_norm), (10_000.0, 1e-5, false));
    let T5Config { n_layers, n_heads, d_model, d_head, d_ffn, n_words, n_buckets, max_distance, norm_eps } =
        T5Config::FLAN_XL;
    assert_eq!([n_layers, n_heads, d_model, d_head, d_ffn, n_words], [24, 32, 2048, 64, 5120, 32_128]);
    assert_eq!((n_buckets, max_distance, norm_eps), (32, 128, 1e-6));
    let IgptConfig { d_model, n_layers, n_heads, n_vocab, side } =
        IgptConfig::of(entry("igpt-mnist").unwrap());
    assert_eq!([d_model, n_layers, n_heads, n_vocab, side], [16, 8, 2, 16, 28]);
    let Vq16Config { n_codes, d_code, d_latent, channels } = Vq16Config::PUBLISHED;
    assert_eq!(([n_codes, d_code, d_latent], channels), ([16_384, 8, 256], &[512, 256, 256, 128, 128][..]));
    let VqganConfig { n_codes, d_code, d_latent, channels, widths, n_blocks } = VqganConfig::chameleon();
    assert_eq!([n_codes, d_code, d_latent, channels, n_blocks], [8192, 256, 256, 128, 2]);
    assert_eq!(widths, [1, 1, 2, 2, 4]);
}
