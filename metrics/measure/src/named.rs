//! The protocols that are built in, one file each below `metrics/protocols`.

/// Name and text of each, sorted by name.
pub(crate) const PROTOCOLS: [(&str, &str); 17] = [
    ("clean", include_str!("../../protocols/clean.toml")),
    ("clean-legacy-pytorch", include_str!("../../protocols/clean-legacy-pytorch.toml")),
    ("clean-legacy-tf", include_str!("../../protocols/clean-legacy-tf.toml")),
    ("clipscore", include_str!("../../protocols/clipscore.toml")),
    ("cmmd", include_str!("../../protocols/cmmd.toml")),
    ("fd-dinov2", include_str!("../../protocols/fd-dinov2.toml")),
    ("lantern", include_str!("../../protocols/lantern.toml")),
    ("lantern-clip", include_str!("../../protocols/lantern-clip.toml")),
    ("lantern-pr", include_str!("../../protocols/lantern-pr.toml")),
    ("prdc", include_str!("../../protocols/prdc.toml")),
    ("pytorch-fid", include_str!("../../protocols/pytorch-fid.toml")),
    ("sjd", include_str!("../../protocols/sjd.toml")),
    ("sjd-clip", include_str!("../../protocols/sjd-clip.toml")),
    ("sjd-is", include_str!("../../protocols/sjd-is.toml")),
    ("tf1", include_str!("../../protocols/tf1.toml")),
    ("torchmetrics-1.8", include_str!("../../protocols/torchmetrics-1.8.toml")),
    ("torchmetrics-clip", include_str!("../../protocols/torchmetrics-clip.toml")),
];
