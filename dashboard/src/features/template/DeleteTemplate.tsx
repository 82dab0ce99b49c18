import { useQuery } from '@tanstack/react-query';
import { api, call } from '#/api/client';
import { projectKey, queries } from '#/api/query';
import { number } from '#/i18n/format';
import { TextLink } from '#/ui/button';
import { Confirm } from '#/ui/dialog';
import { Skeleton } from '#/ui/skeleton';
import { done } from '#/ui/toast';
import { template, templateUsage } from './queries';
import { t } from './texts';

/** Asks before a template is deleted, and says what sends it. */
export function DeleteTemplate({ id, name, onClose, onDeleted }: {
  id: string;
  name: string;
  onClose: () => void;
  onDeleted?: () => void;
}) {
  const usage = useQuery(templateUsage(id));
  return (
    <Confirm
      open
      onClose={onClose}
      title={t.deleteTitle(name)}
      action={t.delete}
      onConfirm={async () => {
        await call(api.DELETE('/templates/{id}', { params: { path: { id } } }));
        done(t.deleted);
        onDeleted?.();
        queries.removeQueries({ queryKey: template(id).queryKey });
        void queries.invalidateQueries({ queryKey: projectKey('templates', 'list') });
      }}
    >
      <p>{t.deleteText}</p>
      {usage.isLoading && <Skeleton rows={1} />}
      {usage.data && (
        <>
          <p>{t.emailsSent(number(usage.data.emailsSent))}</p>
          {usage.data.workflowSteps.length > 0 && (
            <>
              <p className="font-medium text-ink">{t.usedIn}</p>
              <ul className="list-disc pl-4">
                {usage.data.workflowSteps.map((step) => (
                  <li key={step.id}>
                    <TextLink to={`/workflows/${step.workflowId}`}>{step.workflowName}</TextLink>: {step.name}
                  </li>
                ))}
              </ul>
            </>
          )}
        </>
      )}
    </Confirm>
  );
}
