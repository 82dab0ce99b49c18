//! Portuguese.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    footer_reason: "Este e-mail foi enviado porque aceitou receber e-mails de {project}.",
    update_preferences: "Atualizar as preferências",
    preferences: "Preferências de e-mail",
    unsubscribe: "Cancelar a inscrição",
    subscribe: "Inscrever-se",
    subscribe_again: "Inscrever-se novamente",
    unsubscribe_question: "Cancelar a inscrição nestes e-mails?",
    unsubscribe_explanation: "{email} deixará de receber e-mails de marketing de {project}.",
    unsubscribed: "A sua inscrição foi cancelada",
    not_subscribed: "O endereço {email} não está inscrito para receber e-mails de marketing de {project}.",
    changed_mind: "Mudou de ideia?",
    subscribe_question: "Deseja receber estes e-mails?",
    subscribe_explanation: "{email} passará a receber e-mails de marketing de {project}.",
    subscribed: "A sua inscrição foi confirmada",
    is_subscribed: "O endereço {email} está inscrito para receber e-mails de marketing de {project}.",
    invalid_link: "Este link não é válido",
    invalid_link_text: "Pode estar incompleto ou desatualizado. Abra-o novamente a partir do e-mail.",
    failed: "Ocorreu um erro",
    failed_text: "Tente novamente dentro de alguns minutos.",
};
