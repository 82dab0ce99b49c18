/** How far something is, from 0 to 100. */
export function Progress({ value, label }: { value: number; label: string }) {
  const at = Math.max(0, Math.min(100, value));
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuenow={Math.round(at)}
      aria-valuemin={0}
      aria-valuemax={100}
      className="h-2 overflow-hidden rounded-full bg-raised"
    >
      <div className="h-full rounded-full bg-accent transition-[width] duration-120" style={{ width: `${at}%` }} />
    </div>
  );
}
