/** From how many milliseconds on the clock of this device counts as wrong. Answers take time, and their date has no fractions. */
const WRONG_FROM_MS = 60_000;

let ahead = 0;

/** Takes the date of an answer as what time it is for the service. */
export function serviceTime(date: string | null): void {
  const time = date === null ? Number.NaN : Date.parse(date);
  if (Number.isNaN(time)) return;
  const difference = time - Date.now();
  ahead = Math.abs(difference) < WRONG_FROM_MS ? 0 : difference;
}

/** What time it is, in milliseconds: the service's time where the clock of this device is wrong. */
export function now(): number {
  return Date.now() + ahead;
}
