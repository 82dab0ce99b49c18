//! Enums whose values have names.

/// Defines an enum whose values have names: one for each, wherever it is stored, shown or logged. What one audience
/// sees under another name, as people do with texts, is a method beside.
///
/// ```
/// mailwright_core::names! {
///     /// What is on a tray.
///     pub enum Drink {
///         /// Coffee.
///         Coffee = "coffee",
///         /// Tea.
///         Tea = "tea",
///     }
/// }
/// assert_eq!(Drink::Tea.as_str(), "tea");
/// assert_eq!(Drink::from_name("coffee"), Some(Drink::Coffee));
/// ```
#[macro_export]
macro_rules! names {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident { $($(#[$of_value:meta])* $value:ident = $text:literal),+ $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        $vis enum $name { $($(#[$of_value])* $value),+ }

        impl $name {
            /// Every value, in the order of the definition.
            $vis const ALL: [Self; [$($text),+].len()] = [$(Self::$value),+];

            /// The name.
            $vis const fn as_str(self) -> &'static str {
                match self { $(Self::$value => $text),+ }
            }

            /// The value with a name.
            $vis fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($text => Some(Self::$value),)+
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

/// The same, where the name is also what JSON has, and what the API document says.
macro_rules! names_in_json {
    (
        $(#[doc = $doc:literal])*
        $(#[derive($($derive:ident),+)])?
        $vis:vis enum $name:ident { $($(#[$of_value:meta])* $value:ident = $text:literal),+ $(,)? }
    ) => {
        $crate::names! {
            $(#[doc = $doc])*
            $(#[derive($($derive),+)])?
            #[derive(serde::Serialize, serde::Deserialize)]
            $vis enum $name { $($(#[$of_value])* #[serde(rename = $text)] $value = $text),+ }
        }

        // by hand, since the derived schema would show the variants instead of the names
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .description(Some([$($doc.trim()),*].join(" ")))
                    .enum_values(Some(Self::ALL.map(Self::as_str)))
                    .into()
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
        }
    };
}

pub(crate) use names_in_json;

#[cfg(test)]
mod tests {
    use serde_json::json;

    names_in_json! {
        /// How far something
        /// has come.
        #[derive(PartialOrd, Ord)]
        pub(super) enum Progress {
            /// Nothing is done.
            Begun = "BEGUN",
            /// It waits for something.
            OnTheWay = "on.the-way",
            Done = "done",
        }
    }

    const NAMES: [(Progress, &str); 3] =
        [(Progress::Begun, "BEGUN"), (Progress::OnTheWay, "on.the-way"), (Progress::Done, "done")];

    #[test]
    fn a_value_has_one_name_everywhere() {
        assert_eq!(Progress::ALL, NAMES.map(|(value, _)| value));
        for (value, name) in NAMES {
            assert_eq!(value.as_str(), name);
            assert_eq!(value.to_string(), name);
            assert_eq!(Progress::from_name(name), Some(value));
            assert_eq!(serde_json::to_value(value).unwrap(), json!(name));
            assert_eq!(serde_json::from_value::<Progress>(json!(name)).unwrap(), value);
        }
        assert!(Progress::Begun < Progress::Done);
    }

    #[test]
    fn other_names_are_refused() {
        for name in ["", "begun", "Begun", "OnTheWay", " done"] {
            assert_eq!(Progress::from_name(name), None, "{name:?}");
            let error = serde_json::from_value::<Progress>(json!(name)).unwrap_err().to_string();
            assert!(error.contains("expected one of `BEGUN`, `on.the-way`, `done`"), "{error}");
        }
    }

    #[test]
    fn the_document_lists_the_names() {
        let schema = serde_json::to_value(<Progress as utoipa::PartialSchema>::schema()).unwrap();
        let expected = json!({
            "type": "string",
            "description": "How far something has come.",
            "enum": NAMES.map(|(_, name)| name),
        });
        assert_eq!(schema, expected);
        assert_eq!(<Progress as utoipa::ToSchema>::name(), "Progress");
    }
}
