//! German.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    footer_reason: "Sie erhalten diese E-Mail, weil Sie dem Empfang von E-Mails von {project} zugestimmt haben.",
    update_preferences: "Einstellungen ändern",
    preferences: "E-Mail-Einstellungen",
    unsubscribe: "Abbestellen",
    subscribe: "Abonnieren",
    subscribe_again: "Wieder abonnieren",
    unsubscribe_question: "Diese E-Mails abbestellen?",
    unsubscribe_explanation: "{email} erhält dann keine Marketing-E-Mails von {project} mehr.",
    unsubscribed: "Sie haben die E-Mails abbestellt",
    not_subscribed: "Für {email} sind keine Marketing-E-Mails von {project} abonniert.",
    changed_mind: "Haben Sie es sich anders überlegt?",
    subscribe_question: "Diese E-Mails abonnieren?",
    subscribe_explanation: "{email} erhält dann Marketing-E-Mails von {project}.",
    subscribed: "Sie haben die E-Mails abonniert",
    is_subscribed: "Für {email} sind Marketing-E-Mails von {project} abonniert.",
    invalid_link: "Dieser Link ist ungültig",
    invalid_link_text: "Vielleicht ist er unvollständig oder veraltet. Bitte öffnen Sie ihn noch einmal aus der E-Mail.",
    failed: "Etwas ist schiefgelaufen",
    failed_text: "Bitte versuchen Sie es in einigen Minuten noch einmal.",
};
