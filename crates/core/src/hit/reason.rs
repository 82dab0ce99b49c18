//! Why a hit is what it was judged to be.

use crate::names::names_in_json;

names_in_json! {
    /// The evidence that decided what a hit is.
    pub enum HitReason {
        /// Nothing speaks against a person.
        Ordinary = "ordinary",
        /// An image proxy that fetches when a person opens the mail.
        ImageProxy = "image-proxy",
        /// An image proxy, but within seconds of the delivery.
        Prefetch = "prefetch",
        /// The address is in a network of machines.
        Address = "address",
        /// The user agent is that of a machine.
        Agent = "agent",
        /// Address and user agent are a known pair.
        Pair = "address-and-agent",
        /// There is no user agent.
        NoAgent = "no-agent",
        /// The invisible link was followed.
        Trap = "trap",
        /// More different links in a short time than a person can follow.
        Burst = "burst",
        /// A click sooner after the delivery than a person can read.
        TooSoon = "too-soon",
        /// An open just after the delivery, when a machine was at work on the mail.
        EarlyOpen = "early-open",
        /// The network or user agent of a machine that was just at work on the mail.
        Company = "company",
    }
}

impl HitReason {
    /// Whether hits from the same place shortly before or after are judged alike.
    pub(super) const fn makes_company(self) -> bool {
        matches!(self, Self::Trap | Self::Burst | Self::TooSoon)
    }

    /// A sentence for users. `owner` is whose proxy or scanner it is.
    pub(super) fn words(self, owner: Option<&str>) -> String {
        let whose = owner.unwrap_or("a machine");
        match self {
            Self::Ordinary => "Nothing speaks against a person.".to_owned(),
            Self::ImageProxy => format!("{whose} fetches images when a person opens the mail."),
            Self::Prefetch => format!("{whose} fetched the images within seconds of the delivery."),
            Self::Address => format!("The address belongs to {whose}."),
            Self::Agent => format!("The user agent is that of {whose}."),
            Self::Pair => format!("The address and the user agent are those of {whose}."),
            Self::NoAgent => "The request named no user agent.".to_owned(),
            Self::Trap => "An invisible link was followed.".to_owned(),
            Self::Burst => {
                "More different links were followed in a short time than a person can follow.".to_owned()
            }
            Self::TooSoon => {
                "The link was followed sooner after the delivery than a person can read.".to_owned()
            }
            Self::EarlyOpen => {
                "The mail was opened just after the delivery, while a machine looked at it.".to_owned()
            }
            Self::Company => {
                "The address or the user agent is that of a machine which looked at the mail at that time."
                    .to_owned()
            }
        }
    }
}
