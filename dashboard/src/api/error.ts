import type { components } from './schema';

/** The codes of the API, and those of what gets no answer: a read, and a write, which may have been done or not. */
export type ErrorCode = components['schemas']['ErrorBody']['code'] | 'OFFLINE' | 'UNANSWERED' | 'UNKNOWN';
/** A field that the API refused. */
export type Issue = components['schemas']['Issue'];

/** What a request failed with. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: ErrorCode;
  readonly issues: readonly Issue[];
  /** What the code does not say, in a word for programs. */
  readonly reason: string | undefined;
  /** What the person can do about it, in the service's words. */
  readonly suggestion: string | undefined;
  /** For the log of the service; empty when it gave no answer. */
  readonly requestId: string;
  /** After how many seconds it can be tried again. */
  readonly retryAfter: number | undefined;

  constructor(fields: {
    message: string;
    status: number;
    code: ErrorCode;
    issues?: readonly Issue[];
    reason?: string | undefined;
    suggestion?: string | undefined;
    requestId?: string;
    retryAfter?: number | undefined;
  }) {
    super(fields.message);
    this.name = 'ApiError';
    this.status = fields.status;
    this.code = fields.code;
    this.issues = fields.issues ?? [];
    this.reason = fields.reason;
    this.suggestion = fields.suggestion;
    this.requestId = fields.requestId ?? '';
    this.retryAfter = fields.retryAfter;
  }

  /** How long to wait before it is tried again, in milliseconds; 0 where the answer does not say. */
  get pauseMs(): number {
    return (this.retryAfter ?? 0) * 1000;
  }

  /** Whether the same request may succeed a moment later. */
  get isPassing(): boolean {
    return this.code === 'OFFLINE' || this.code === 'UNANSWERED' || this.status === 429 || this.status >= 500;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** The error in an answer: the API's envelope, or the older `{error: "..."}` that the contract has in a few places. */
export function errorOf(body: unknown, response: Response): ApiError {
  const requestId = response.headers.get('x-request-id') ?? '';
  const after = Number(response.headers.get('retry-after') ?? Number.NaN);
  const retryAfter = Number.isFinite(after) ? after : undefined;
  const status = response.status;
  if (isRecord(body) && isRecord(body.error)) {
    const error = body.error as components['schemas']['ErrorBody'];
    return new ApiError({
      message: error.message,
      status,
      code: error.code,
      issues: error.errors ?? [],
      reason: isRecord(error.details) && typeof error.details.reason === 'string' ? error.details.reason : undefined,
      suggestion: error.suggestion ?? undefined,
      requestId: error.requestId,
      retryAfter,
    });
  }
  const message = isRecord(body) && typeof body.error === 'string' ? body.error : `HTTP ${status}`;
  return new ApiError({ message, status, code: 'UNKNOWN', requestId, retryAfter });
}
