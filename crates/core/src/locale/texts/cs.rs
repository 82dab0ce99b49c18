//! Czech.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    footer_reason: "Tento e-mail dostáváte, protože jste souhlasili se zasíláním e-mailů od odesílatele {project}.",
    update_preferences: "Upravit předvolby",
    preferences: "Předvolby e-mailů",
    unsubscribe: "Odhlásit odběr",
    subscribe: "Přihlásit se k odběru",
    subscribe_again: "Znovu se přihlásit k odběru",
    unsubscribe_question: "Chcete odhlásit odběr těchto e-mailů?",
    unsubscribe_explanation: "Na adresu {email} už nebudou chodit marketingové e-maily od odesílatele {project}.",
    unsubscribed: "Odběr byl odhlášen",
    not_subscribed: "Adresa {email} není přihlášena k odběru marketingových e-mailů od odesílatele {project}.",
    changed_mind: "Rozmysleli jste si to?",
    subscribe_question: "Chcete se přihlásit k odběru těchto e-mailů?",
    subscribe_explanation: "Na adresu {email} budou chodit marketingové e-maily od odesílatele {project}.",
    subscribed: "Jste přihlášeni k odběru",
    is_subscribed: "Adresa {email} je přihlášena k odběru marketingových e-mailů od odesílatele {project}.",
    invalid_link: "Tento odkaz není platný",
    invalid_link_text: "Možná není úplný nebo je zastaralý. Otevřete jej prosím znovu z e-mailu.",
    failed: "Něco se nepovedlo",
    failed_text: "Zkuste to prosím znovu za několik minut.",
};
