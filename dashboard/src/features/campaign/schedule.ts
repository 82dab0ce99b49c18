/** A moment as a field of the type `datetime-local` has it, in the browser's time zone. */
export function localInput(at: Date): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const date = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join('-');
  return `${date}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** Times that people choose often. The names are those of the catalogue. */
export function shortcuts(now: Date): { name: 'inAnHour' | 'tomorrow' | 'monday'; at: Date }[] {
  const nine = (daysAhead: number) =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() + daysAhead, 9, 0);
  // the next one, never today
  const untilMonday = ((8 - now.getDay()) % 7) || 7;
  return [
    { name: 'inAnHour', at: new Date(now.getTime() + 3_600_000) },
    { name: 'tomorrow', at: nine(1) },
    { name: 'monday', at: nine(untilMonday) },
  ];
}
