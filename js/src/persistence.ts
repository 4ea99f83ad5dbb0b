// The entry `watchglass/persistence`, for pages that sign out a user. Engines store the states.
import { databaseName } from "./persistence/database.js";

/**
 * Deletes all states that were persisted on this origin, for all users. Call it when the user signs
 * out. Running engines store no further states. Resolves when the states are deleted.
 */
export function clearPersisted(): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(databaseName);
    request.onsuccess = () => resolve();
    request.onerror = () => reject(request.error);
  });
}
