//! Why somebody who comes back from a provider is not signed in.

use mailwright_core::names;

names! {
    /// Why somebody who comes back from a provider is not signed in.
    ///
    /// The address of the page that says so holds the code, and the page shows the text of it. Anybody can make a link to
    /// that page, and none of them brings a text of its own.
    pub enum SignInRefusal {
        /// The operator did not set the provider up.
        NotConfigured = "not-configured",
        /// The browser is not the one that left, or the way took too long.
        NotBegunHere = "not-begun-here",
        /// The provider sent no code, mostly because the person said no.
        Denied = "denied",
        /// The provider gave no token for the code.
        Unconfirmed = "unconfirmed",
        /// The provider could not be asked, or answered with an error.
        ProviderFailed = "provider-failed",
        /// The provider did not say who it is.
        Unnamed = "unnamed",
        /// The provider knows no address of the person that it verified.
        NoVerifiedAddress = "no-verified-address",
        /// The account asks for a code, which a provider does not know.
        SecondFactor = "second-factor",
        /// The account of that address has a password, or belongs to another provider.
        OtherWay = "other-way",
        /// There is no account, and none can be created.
        SignUpsOff = "sign-ups-off",
        /// The account vanished, or came to be, at the same moment.
        ChangedMeanwhile = "changed-meanwhile",
    }
}

impl SignInRefusal {
    /// What the person is told.
    pub fn text(self) -> &'static str {
        match self {
            Self::NotConfigured => "Signing in with this provider is not configured.",
            Self::NotBegunHere => {
                "This sign-in was not begun in this browser, was used, or took too long. Try again."
            }
            Self::Denied => "The provider did not sign you in.",
            Self::Unconfirmed => "The provider did not confirm the sign-in. Try again.",
            Self::ProviderFailed => "The provider could not be asked who you are. Try again later.",
            Self::Unnamed => "The provider did not say who you are.",
            Self::NoVerifiedAddress => "Your account at the provider has no verified email address.",
            Self::SecondFactor => "This account has a second factor. Sign in with your password and a code.",
            Self::OtherWay => {
                "There is an account with this address that signs in another way. Use that one."
            }
            Self::SignUpsOff => "Signing up is switched off on this instance. Ask for an invitation.",
            Self::ChangedMeanwhile => "Your account was changed at the same moment. Sign in again.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SignInRefusal;

    #[test]
    fn a_code_names_one_refusal() {
        for refusal in SignInRefusal::ALL {
            assert_eq!(SignInRefusal::from_name(refusal.as_str()), Some(refusal));
        }
        assert_eq!(SignInRefusal::from_name("Call this number"), None);
    }

    #[test]
    fn the_dashboard_has_a_text_for_each_in_both_languages() {
        let texts = include_str!("../../../../dashboard/src/features/auth/texts.ts");
        for refusal in SignInRefusal::ALL {
            let name = refusal.as_str();
            // as keys of an object: a name with a hyphen stands in quotation marks
            let key = if name.contains('-') { format!("      '{name}':") } else { format!("      {name}:") };
            assert_eq!(texts.matches(&key).count(), 2, "{name}");
        }
    }
}
