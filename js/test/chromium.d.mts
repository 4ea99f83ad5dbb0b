export const args: string[];
