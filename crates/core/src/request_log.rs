//! What the log of a project's requests keeps: which requests, and what of their path.

/// Most errors of a project that one process keeps in a minute before it keeps some of them, and most successes.
pub const KEPT_PER_MINUTE: u32 = 300;
/// Of the errors beyond that one of so many is kept.
pub const ONE_OF: u32 = 100;
/// Most errors of a project that one process keeps in a minute at all.
pub const MOST_PER_MINUTE: u32 = 400;

/// Whether an error is kept that is the `place`-th of its project in this minute, from 1.
pub fn is_error_kept(place: u32) -> bool {
    let beyond = place.saturating_sub(KEPT_PER_MINUTE);
    beyond == 0 || (beyond.is_multiple_of(ONE_OF) && beyond / ONE_OF <= MOST_PER_MINUTE - KEPT_PER_MINUTE)
}

/// Whether a success is kept that is the `place`-th of those that could be kept in this minute, from 1.
pub fn is_success_kept(place: u32) -> bool {
    place <= KEPT_PER_MINUTE
}

/// The path of a request as the log shows it: ids and numbers stand as they came, and the name of the parameter for
/// whatever else stands in its place, since that may be an address of a person or a secret. `route` is the template,
/// such as `/contacts/{id}`; a path that is not of this form is not shown.
pub fn shown_path(route: &str, path: &str) -> String {
    if route.split('/').count() != path.split('/').count() {
        return route.to_owned();
    }
    let mut shown = String::with_capacity(path.len());
    for (at, (template, given)) in route.split('/').zip(path.split('/')).enumerate() {
        if at > 0 {
            shown.push('/');
        }
        shown.push_str(if template.starts_with('{') && is_harmless(given) { given } else { template });
    }
    shown
}

/// Whether a part of a path is an id or a number.
fn is_harmless(given: &str) -> bool {
    let is_number = (1..=10).contains(&given.len()) && given.bytes().all(|byte| byte.is_ascii_digit());
    is_number || given.parse::<uuid::fmt::Hyphenated>().is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_path_shows_ids_and_numbers_alone() {
        let id = "01890000-0000-7000-8000-000000000001";
        for (route, path, shown) in [
            ("/v1/track", "/v1/track", "/v1/track"),
            ("/contacts/{id}", &format!("/contacts/{id}"), &format!("/contacts/{id}")),
            ("/contacts/{id}", "/contacts/ada%40shop.test", "/contacts/{id}"),
            (
                "/emails/{id}/attachments/{index}",
                &format!("/emails/{id}/attachments/3"),
                &format!("/emails/{id}/attachments/3"),
            ),
            (
                "/contacts/fields/{field}/values",
                "/contacts/fields/diagnosis/values",
                "/contacts/fields/{field}/values",
            ),
            ("/contacts/{id}", "/contacts/12345678901", "/contacts/{id}"),
            ("/contacts/{id}", "/contacts/", "/contacts/{id}"),
            ("/docs/{*rest}", "/docs/a/b", "/docs/{*rest}"),
        ] {
            assert_eq!(shown_path(route, path), shown, "{path}");
        }
    }

    #[test]
    fn a_minute_keeps_a_bounded_number() {
        let kept = (1..=1_000_000).filter(|place| is_error_kept(*place)).count();
        assert_eq!(kept, MOST_PER_MINUTE as usize);
        assert!(is_error_kept(KEPT_PER_MINUTE) && !is_error_kept(KEPT_PER_MINUTE + 1));
        assert!(is_error_kept(KEPT_PER_MINUTE + ONE_OF) && !is_error_kept(u32::MAX));
        assert!(is_success_kept(KEPT_PER_MINUTE) && !is_success_kept(KEPT_PER_MINUTE + 1));
    }

    proptest! {
        #[test]
        fn what_stands_for_a_parameter_is_an_id_or_its_name(given in "[^/]{0,60}") {
            let shown = shown_path("/a/{b}", &format!("/a/{given}"));
            let is_the_name = shown == "/a/{b}";
            prop_assert!(is_the_name || is_harmless(&given));
        }

        #[test]
        fn no_path_is_longer_than_its_template_allows(path in ".{0,400}") {
            let bytes = shown_path("/a/{b}/c", &path).len();
            prop_assert!(bytes <= "/a//c".len() + 36);
        }
    }
}
