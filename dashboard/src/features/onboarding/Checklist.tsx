import { useQuery } from '@tanstack/react-query';
import { Check, Circle } from 'lucide';
import { useState } from 'react';
import type { Schemas } from '#/api/client';
import { useProject } from '#/features/project/open';
import { setupState } from '#/features/project/queries';
import type { Search } from '#/router';
import { Button, TextLink } from '#/ui/button';
import { classes } from '#/ui/classes';
import { Icon } from '#/ui/icon';
import { Section } from '#/ui/page';
import { t } from './texts';

/** How often what is done is looked for, in milliseconds. */
const LOOK_MS = 10_000;

interface Step {
  name: string;
  done: boolean;
  to: string;
  search?: Search;
}

const stepsOf = (state: Schemas['SetupState']): Step[] => [
  { name: t.steps.domain, done: state.hasVerifiedDomain, to: '/settings', search: { tab: 'domains' } },
  { name: t.steps.mail, done: state.hasSentEmail, to: '/onboarding' },
  { name: t.steps.contacts, done: state.contactCount > 0, to: '/contacts/import' },
  { name: t.steps.campaign, done: Boolean(state.lastCampaignSentAt), to: '/campaigns/create' },
  { name: t.steps.workflow, done: state.hasEnabledWorkflow, to: '/workflows' },
];

/** What a project still lacks. It fills as things happen, and goes away by itself when all is done. */
export function Checklist() {
  const project = useProject();
  const hiddenBy = `mailwright.checklist.${project.id}`;
  const [hidden, setHidden] = useState(() => localStorage.getItem(hiddenBy) === 'hidden');
  const { data } = useQuery({
    ...setupState(project.id),
    refetchInterval: ({ state }) => (state.data && stepsOf(state.data).every((step) => step.done) ? false : LOOK_MS),
    enabled: !hidden,
  });
  if (hidden || !data) return null;
  const steps = stepsOf(data);
  const done = steps.filter((step) => step.done).length;
  if (done === steps.length) return null;
  const hide = () => {
    localStorage.setItem(hiddenBy, 'hidden');
    setHidden(true);
  };
  return (
    <Section
      title={t.checklist}
      lead={t.progress(done, steps.length)}
      actions={
        <Button size="small" variant="ghost" onClick={hide}>
          {t.hide}
        </Button>
      }
    >
      <ol className="space-y-2">
        {steps.map((step) => (
          <li key={step.name} className="flex items-center gap-2">
            <Icon of={step.done ? Check : Circle} className={classes('shrink-0', step.done ? 'text-good' : 'text-muted')} />
            <span className="sr-only">{step.done ? t.done : t.open}: </span>
            {step.done ? (
              <span className="text-muted line-through">{step.name}</span>
            ) : (
              <TextLink to={step.to} search={step.search}>
                {step.name}
              </TextLink>
            )}
          </li>
        ))}
      </ol>
    </Section>
  );
}
