import { useQuery } from '@tanstack/react-query';
import { X } from 'lucide';
import { IconButton } from '#/ui/button';
import { Icon } from '#/ui/icon';
import { Problem } from '#/ui/problem';
import { Progress } from '#/ui/progress';
import { Banner } from '#/ui/status';
import { t as ui } from '#/ui/texts';
import { enrolment } from '../queries';
import { t } from './texts';

/** How the enrolment of a segment goes. */
export function Enrolling({ workflow, job, onDismiss }: { workflow: string; job: string; onDismiss: () => void }) {
  const { data, error } = useQuery(enrolment(workflow, job));
  if (error && !data) return <Problem error={error} />;
  const dismiss = (
    <IconButton label={ui.dismiss} size="small" onClick={onDismiss}>
      <Icon of={X} size={14} />
    </IconButton>
  );
  if (data?.state === 'failed') {
    return (
      <Banner tone="bad" action={dismiss}>
        {`${t.jobFailed}: ${data.failedReason ?? ''}`}
      </Banner>
    );
  }
  if (data?.state === 'completed' && data.result) {
    return (
      <div role="status">
        <Banner tone="good" action={dismiss}>
          {t.enrolled(data.result.enrolled, data.result.refused)}
        </Banner>
      </div>
    );
  }
  return (
    <Banner tone="muted">
      <p className="mb-2">{t.enrolling}</p>
      <Progress value={data?.progress ?? 0} label={t.enrolling} />
    </Banner>
  );
}
