//! Swedish.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    footer_reason: "Du får det här mejlet eftersom du har samtyckt till att få mejl från {project}.",
    update_preferences: "Uppdatera dina inställningar",
    preferences: "E-postinställningar",
    unsubscribe: "Avsluta prenumerationen",
    subscribe: "Prenumerera",
    subscribe_again: "Prenumerera igen",
    unsubscribe_question: "Vill du avsluta prenumerationen på de här mejlen?",
    unsubscribe_explanation: "{email} får då inte längre marknadsföringsmejl från {project}.",
    unsubscribed: "Prenumerationen är avslutad",
    not_subscribed: "{email} prenumererar inte på marknadsföringsmejl från {project}.",
    changed_mind: "Har du ändrat dig?",
    subscribe_question: "Vill du prenumerera på de här mejlen?",
    subscribe_explanation: "{email} får då marknadsföringsmejl från {project}.",
    subscribed: "Du prenumererar nu",
    is_subscribed: "{email} prenumererar på marknadsföringsmejl från {project}.",
    invalid_link: "Länken är inte giltig",
    invalid_link_text: "Den kan vara ofullständig eller inaktuell. Öppna den igen från mejlet.",
    failed: "Något gick fel",
    failed_text: "Försök igen om några minuter.",
};
