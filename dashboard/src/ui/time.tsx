import { ago, moment } from '#/i18n/format';

/** A moment as people say it, with the exact one on hover and focus. */
export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={moment(at)} className="whitespace-nowrap">
      {ago(at)}
    </time>
  );
}
