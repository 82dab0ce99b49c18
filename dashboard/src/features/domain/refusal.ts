import { ApiError } from '#/api/error';
import { t } from './refusal-texts';

/** What adding a domain failed with, in the language of the page where the service says in a word why. */
export function inOurWords(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  const issues = error.issues.map((issue) => ({ ...issue, message: t.words(issue.code, issue.message) }));
  return new ApiError({ ...error, message: t.words(error.reason, error.message), issues });
}
