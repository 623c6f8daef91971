export * from 'searchflow/workflows';
