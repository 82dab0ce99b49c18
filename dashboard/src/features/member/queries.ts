import { queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from '#/api/client';
import { projectKey, queries } from '#/api/query';

/** A member of a project. */
export type Member = Schemas['MemberView'];
/** An invitation that nobody accepted yet. */
export type Invitation = Schemas['InvitationView'];
/** Roles that can be given to others without their agreement. */
export type GivenRole = Schemas['GivenRole'];

/** The members of the project, the oldest first. */
export const members = (id: string) =>
  queryOptions({
    queryKey: projectKey('members'),
    queryFn: ({ signal }) => call(api.GET('/projects/{id}/members', { params: { path: { id } }, signal })),
  });

/** The addresses of the members, by their ids. */
export const memberNames = (id: string) => ({
  ...members(id),
  select: (all: Member[]) => new Map(all.map((member) => [member.userId, member.email])),
});

/** The invitations of the project that are open. */
export const invitations = (id: string) =>
  queryOptions({
    queryKey: projectKey('invitations'),
    queryFn: ({ signal }) => call(api.GET('/projects/{id}/invitations', { params: { path: { id } }, signal })),
  });

/** Loads again who is a member and who is invited. */
export async function reloadMembers(): Promise<void> {
  await Promise.all([
    queries.invalidateQueries({ queryKey: projectKey('members') }),
    queries.invalidateQueries({ queryKey: projectKey('invitations') }),
  ]);
}
