//! Dutch.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    footer_reason: "U ontvangt deze e-mail omdat u ermee hebt ingestemd e-mails van {project} te ontvangen.",
    update_preferences: "Voorkeuren aanpassen",
    preferences: "E-mailvoorkeuren",
    unsubscribe: "Afmelden",
    subscribe: "Aanmelden",
    subscribe_again: "Opnieuw aanmelden",
    unsubscribe_question: "Wilt u zich afmelden voor deze e-mails?",
    unsubscribe_explanation: "{email} ontvangt dan geen marketingmails meer van {project}.",
    unsubscribed: "U bent afgemeld",
    not_subscribed: "{email} is niet aangemeld voor marketingmails van {project}.",
    changed_mind: "Van gedachten veranderd?",
    subscribe_question: "Wilt u zich aanmelden voor deze e-mails?",
    subscribe_explanation: "{email} ontvangt dan marketingmails van {project}.",
    subscribed: "U bent nu aangemeld",
    is_subscribed: "{email} is aangemeld voor marketingmails van {project}.",
    invalid_link: "Deze link is niet geldig",
    invalid_link_text: "De link is mogelijk onvolledig of verouderd. Open hem opnieuw vanuit de e-mail.",
    failed: "Er is iets misgegaan",
    failed_text: "Probeer het over een paar minuten opnieuw.",
};
