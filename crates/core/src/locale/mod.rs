//! The languages in which the service speaks to recipients: in the footer of marketing mail and on the public pages.
//! The language of a contact comes first, then that of its project, then English.

pub mod texts;

use texts::Texts;

/// The longest language tag that is looked at. Longer ones exist in no registry (RFC 5646 section 4.4.1).
const MAX_TAG: usize = 64;
/// How many languages of an `Accept-Language` header are looked at.
const MAX_ACCEPTED: usize = 32;

/// A language that the texts of the service are translated into (reference 4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Locale {
    /// English.
    En,
    /// Dutch.
    Nl,
    /// French.
    Fr,
    /// Hindi.
    Hi,
    /// German.
    De,
    /// Portuguese.
    Pt,
    /// Bulgarian.
    Bg,
    /// Czech.
    Cs,
    /// Welsh.
    Cy,
    /// Polish.
    Pl,
    /// Spanish.
    Es,
    /// Italian.
    It,
    /// Chinese as written in Taiwan.
    ZhTw,
    /// Chinese as written in Hong Kong.
    ZhHk,
    /// Chinese as written in mainland China.
    ZhCn,
    /// Japanese.
    Ja,
    /// Swedish.
    Sv,
}

impl Locale {
    /// Every language.
    pub const ALL: [Self; 17] = [
        Self::En,
        Self::Nl,
        Self::Fr,
        Self::Hi,
        Self::De,
        Self::Pt,
        Self::Bg,
        Self::Cs,
        Self::Cy,
        Self::Pl,
        Self::Es,
        Self::It,
        Self::ZhTw,
        Self::ZhHk,
        Self::ZhCn,
        Self::Ja,
        Self::Sv,
    ];

    /// The language tag (BCP 47), as in the `lang` attribute.
    pub fn tag(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Nl => "nl",
            Self::Fr => "fr",
            Self::Hi => "hi",
            Self::De => "de",
            Self::Pt => "pt",
            Self::Bg => "bg",
            Self::Cs => "cs",
            Self::Cy => "cy",
            Self::Pl => "pl",
            Self::Es => "es",
            Self::It => "it",
            Self::ZhTw => "zh-TW",
            Self::ZhHk => "zh-HK",
            Self::ZhCn => "zh-CN",
            Self::Ja => "ja",
            Self::Sv => "sv",
        }
    }

    /// The texts in this language.
    pub fn texts(self) -> &'static Texts {
        Texts::of(self)
    }

    /// The language a tag asks for, in any letter case, with `-` or `_`: by the whole tag, or by the language it begins
    /// with (`fr-CA` is French). `None` for a language that there are no texts in.
    pub fn from_tag(tag: &str) -> Option<Self> {
        let tag = tag.trim();
        if tag.len() > MAX_TAG {
            return None;
        }
        // names of POSIX locales go on with an encoding or a variant: fr_FR.UTF-8, de_DE@euro
        let tag = tag.split_once(['.', '@']).map_or(tag, |(tag, _)| tag);
        let mut subtags = tag.split(['-', '_']);
        let language = subtags.next()?;
        if language.eq_ignore_ascii_case("zh") {
            return Some(Self::chinese(subtags));
        }
        Self::ALL.into_iter().find(|locale| locale.tag().eq_ignore_ascii_case(language))
    }

    /// The kind of Chinese that script and region ask for. The script decides; where none is named, the region tells
    /// which one is written there.
    fn chinese<'a>(subtags: impl Iterator<Item = &'a str>) -> Self {
        let (mut simplified, mut traditional, mut hong_kong) = (false, false, false);
        for subtag in subtags {
            match subtag.to_ascii_lowercase().as_str() {
                "hans" => simplified = true,
                "hant" | "tw" => traditional = true,
                "hk" | "mo" => hong_kong = true,
                _ => {}
            }
        }
        match (simplified, hong_kong, traditional) {
            (true, _, _) | (false, false, false) => Self::ZhCn,
            (false, true, _) => Self::ZhHk,
            (false, false, true) => Self::ZhTw,
        }
    }

    /// The language for a recipient: the contact's `locale`, else the project's language, else English (reference 4.5).
    pub fn resolve(contact: Option<&str>, project: &str) -> Self {
        contact.and_then(Self::from_tag).or_else(|| Self::from_tag(project)).unwrap_or(Self::En)
    }

    /// The language that an `Accept-Language` header prefers, for a visitor without a known contact; otherwise English.
    pub fn accepted(header: &str) -> Self {
        let mut best = (0.0, Self::En);
        for range in header.split(',').take(MAX_ACCEPTED) {
            let (tag, parameters) = range.split_once(';').unwrap_or((range, ""));
            let quality = match parameters.trim().strip_prefix("q=") {
                Some(text) => text.trim().parse::<f32>().unwrap_or(0.0).clamp(0.0, 1.0),
                None => 1.0,
            };
            // of languages that are liked equally the first counts; one with quality 0 is refused
            if quality > best.0
                && let Some(locale) = Self::from_tag(tag)
            {
                best = (quality, locale);
            }
        }
        best.1
    }
}

/// Whether a text has the form of a project's language: `en` or `pt-BR` (reference 4.5). The language may be one that
/// there are no texts in.
pub fn is_language_code(text: &str) -> bool {
    match text.as_bytes() {
        [language @ .., b'-', a, b] if language.len() == 2 => {
            language.iter().all(u8::is_ascii_lowercase) && a.is_ascii_uppercase() && b.is_ascii_uppercase()
        }
        [a, b] => a.is_ascii_lowercase() && b.is_ascii_lowercase(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_is_found_by_its_own_tag_however_it_is_written() {
        for locale in Locale::ALL {
            let tag = locale.tag();
            for written in [tag.to_owned(), tag.to_lowercase(), tag.to_uppercase(), tag.replace('-', "_")] {
                assert_eq!(Locale::from_tag(&written), Some(locale), "{written}");
                assert_eq!(Locale::from_tag(&format!(" {written}\n")), Some(locale), "{written}");
            }
            assert_eq!(Locale::ALL[locale as usize], locale, "the order of `ALL` is that of the type");
        }
    }

    #[test]
    fn a_region_or_script_without_texts_of_its_own_falls_back_to_the_language() {
        for (tag, expected) in [
            ("fr-FR", Some(Locale::Fr)),
            ("FR_ca", Some(Locale::Fr)),
            ("fr_FR.UTF-8", Some(Locale::Fr)),
            ("de_DE@euro", Some(Locale::De)),
            ("de-CH-1996", Some(Locale::De)),
            ("pt-BR", Some(Locale::Pt)),
            ("en-GB-oed", Some(Locale::En)),
            ("hi-Deva-IN", Some(Locale::Hi)),
            ("zh", Some(Locale::ZhCn)),
            ("ZH", Some(Locale::ZhCn)),
            ("zh-SG", Some(Locale::ZhCn)),
            ("zh-Hans", Some(Locale::ZhCn)),
            ("zh-Hans-HK", Some(Locale::ZhCn)),
            ("zh-Hans-TW", Some(Locale::ZhCn)),
            ("zh_CN.GB18030", Some(Locale::ZhCn)),
            ("zh-Hant", Some(Locale::ZhTw)),
            ("zh-hant-tw", Some(Locale::ZhTw)),
            ("zh-Hant-HK", Some(Locale::ZhHk)),
            ("zh-MO", Some(Locale::ZhHk)),
            ("da", None),
            ("english", None),
            ("f", None),
            ("", None),
            ("-", None),
            ("*", None),
            ("日本語", None),
        ] {
            assert_eq!(Locale::from_tag(tag), expected, "{tag}");
        }
        assert_eq!(Locale::from_tag(&format!("fr-{}", "x".repeat(1_000_000))), None);
    }

    #[test]
    fn the_contact_comes_before_the_project_and_english_is_last() {
        for (contact, project, expected) in [
            (Some("sv"), "de", Locale::Sv),
            (Some("fr-CA"), "de", Locale::Fr),
            (Some("da"), "de", Locale::De),
            (Some(""), "de-AT", Locale::De),
            (None, "zh-TW", Locale::ZhTw),
            (None, "da", Locale::En),
            (Some("tlh"), "da", Locale::En),
        ] {
            assert_eq!(Locale::resolve(contact, project), expected, "{contact:?} {project}");
        }
    }

    #[test]
    fn the_best_liked_language_is_accepted() {
        for (header, expected) in [
            ("", Locale::En),
            ("fr", Locale::Fr),
            ("fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5", Locale::Fr),
            ("en;q=0.4,nl;q=0.9", Locale::Nl),
            ("da, sv;q=0.8, en;q=0.7", Locale::Sv),
            ("de;q=0, it;q=0.1", Locale::It),
            ("ja ; q=0.5 , pl ; q=0.5", Locale::Ja),
            ("es;q=nonsense", Locale::En),
            ("es;q=NaN, cs;q=0.2", Locale::Cs),
            ("es;q=-1", Locale::En),
            ("*", Locale::En),
            ("zh-Hant-HK;q=7, de;q=0.9", Locale::ZhHk),
        ] {
            assert_eq!(Locale::accepted(header), expected, "{header}");
        }
    }

    #[test]
    fn a_language_code_has_one_form() {
        for (text, expected) in [
            ("en", true),
            ("pt-BR", true),
            ("EN", false),
            ("pt-br", false),
            ("pt_BR", false),
            ("p-BR", false),
            ("eng", false),
            ("-BR", false),
            ("", false),
            ("é", false),
        ] {
            assert_eq!(is_language_code(text), expected, "{text}");
        }
    }
}
