/** Numbers for people; they live in `bench`, since what is below `report` has sentences to make too. */
export * from '../bench/units.js';
