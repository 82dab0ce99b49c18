//! French.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    footer_reason: "Vous recevez cet e-mail parce que vous avez accepté de recevoir des e-mails de {project}.",
    update_preferences: "Modifier vos préférences",
    preferences: "Préférences e-mail",
    unsubscribe: "Se désabonner",
    subscribe: "S’abonner",
    subscribe_again: "Se réabonner",
    unsubscribe_question: "Se désabonner de ces e-mails\u{a0}?",
    unsubscribe_explanation: "{email} ne recevra plus d’e-mails marketing de {project}.",
    unsubscribed: "Votre désabonnement est confirmé",
    not_subscribed: "L’adresse {email} n’est pas abonnée aux e-mails marketing de {project}.",
    changed_mind: "Vous avez changé d’avis\u{a0}?",
    subscribe_question: "S’abonner à ces e-mails\u{a0}?",
    subscribe_explanation: "{email} recevra des e-mails marketing de {project}.",
    subscribed: "Votre abonnement est confirmé",
    is_subscribed: "L’adresse {email} est abonnée aux e-mails marketing de {project}.",
    invalid_link: "Ce lien n’est pas valide",
    invalid_link_text: "Il est peut-être incomplet ou périmé. Veuillez l’ouvrir à nouveau depuis l’e-mail.",
    failed: "Une erreur s’est produite",
    failed_text: "Veuillez réessayer dans quelques minutes.",
};
