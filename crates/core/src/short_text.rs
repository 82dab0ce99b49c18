//! Shortens texts for messages to people.

/// A number of things, such as `1 row` and `2 rows`.
pub fn counted(number: u64, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// The beginning of a text, of at most so many characters.
pub fn shortened(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_not_several() {
        assert_eq!([0, 1, 2].map(|number| counted(number, "row")), ["0 rows", "1 row", "2 rows"]);
    }
}
