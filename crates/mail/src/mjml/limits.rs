//! What a source may have at most.

/// The longest source, in characters.
pub const MAX_SOURCE: usize = 1_000_000;
/// The most elements of a source, those of HTML in its texts included.
pub const MAX_ELEMENTS: usize = 20_000;
/// How deep elements can stand inside each other.
pub const MAX_DEPTH: usize = 64;
/// The most images of all carousels: what is written for a carousel grows with the square of their number.
pub const MAX_CAROUSEL_IMAGES: usize = 100;
/// The most bytes of the names of classes in `mj-class`, which are looked up for every attribute of their element.
pub const MAX_CLASSES: usize = 64 * 1024;
/// The most bytes of attributes that elements take over from others (from `mj-attributes`, or from what they stand in),
/// times the number of elements.
pub const MAX_INHERITED: usize = 8 * 1024 * 1024;
