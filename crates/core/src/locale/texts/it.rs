//! Italian.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    footer_reason: "Ricevi questa email perché hai accettato di ricevere email da {project}.",
    update_preferences: "Aggiorna le tue preferenze",
    preferences: "Preferenze email",
    unsubscribe: "Annulla l’iscrizione",
    subscribe: "Iscriviti",
    subscribe_again: "Iscriviti di nuovo",
    unsubscribe_question: "Vuoi annullare l’iscrizione a queste email?",
    unsubscribe_explanation: "{email} non riceverà più email di marketing da {project}.",
    unsubscribed: "Iscrizione annullata",
    not_subscribed: "L’indirizzo {email} non è iscritto alle email di marketing di {project}.",
    changed_mind: "Hai cambiato idea?",
    subscribe_question: "Vuoi iscriverti a queste email?",
    subscribe_explanation: "{email} riceverà email di marketing da {project}.",
    subscribed: "Iscrizione confermata",
    is_subscribed: "L’indirizzo {email} è iscritto alle email di marketing di {project}.",
    invalid_link: "Questo link non è valido",
    invalid_link_text: "Potrebbe essere incompleto o non più attuale. Aprilo di nuovo dall’email.",
    failed: "Si è verificato un errore",
    failed_text: "Riprova tra qualche minuto.",
};
