import { texts } from '#/i18n/language';

/** Why executions end, by what the service says. */
export const t = texts({
  en: {
    goal: 'Goal reached',
    exit_step: 'Exit step',
    cancelled: 'Cancelled',
    project_disabled: 'Project disabled',
    'The step does not exist any more.': 'The step does not exist any more.',
    'The version of the workflow does not exist any more.': 'The version of the workflow does not exist any more.',
    'The execution cannot be read.': 'The execution cannot be read.',
    'An unexpected error stopped the execution.': 'An unexpected error stopped the execution.',
  },
  de: {
    goal: 'Ziel erreicht',
    exit_step: 'Schritt „Ende“',
    cancelled: 'Abgebrochen',
    project_disabled: 'Projekt deaktiviert',
    'The step does not exist any more.': 'Den Schritt gibt es nicht mehr.',
    'The version of the workflow does not exist any more.': 'Die Version des Workflows gibt es nicht mehr.',
    'The execution cannot be read.': 'Der Durchlauf kann nicht gelesen werden.',
    'An unexpected error stopped the execution.': 'Ein unerwarteter Fehler hat den Durchlauf beendet.',
  },
});
