import { createContext, useContext } from 'react';
import { setProject } from '#/api/client';
import { queries } from '#/api/query';
import type { User } from '#/features/user/queries';
import type { Project } from './queries';

const LAST = 'mailwright.project';
/** What an id looks like. Anything may stand in an address. */
const ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
let open: string | undefined;
let expected: string | undefined;

/** The project to open: the one in the address, the one that was open last, or the first. */
export function choose(all: readonly Project[], wanted: string | null): Project | undefined {
  const byId = (id: string | null) => all.find((project) => project.id === id);
  return byId(wanted) ?? byId(localStorage.getItem(LAST)) ?? all[0];
}

/**
 * Takes the project that the address names for the one that will be open, before it is known which there are: what the first
 * page shows is asked for already. Gives whether it names one.
 */
export function expectProject(named: string | null): boolean {
  if (!named || !ID.test(named)) return false;
  expected = named;
  setProject(named);
  return true;
}

/** Opens a project. What was loaded of another one is forgotten. */
export function openProject(id: string): void {
  if (open === id) return;
  if ((open ?? expected ?? id) !== id) queries.removeQueries({ queryKey: ['project'] });
  open = id;
  setProject(id);
  localStorage.setItem(LAST, id);
}

/** Who is here, and where. */
export interface Membership {
  user: User;
  project: Project;
  projects: readonly Project[];
}

/** Set around every page of a project. */
export const MembershipContext = createContext<Membership | undefined>(undefined);

/** Who is here, and where; on pages of a project. */
export function useMembership(): Membership {
  const membership = useContext(MembershipContext);
  if (!membership) throw new Error('This page is not within a project.');
  return membership;
}

/** The project that is open. */
export function useProject(): Project {
  return useMembership().project;
}

/** Whether who is signed in may administer the project that is open. */
export function useIsAdmin(): boolean {
  return useProject().role !== 'MEMBER';
}
