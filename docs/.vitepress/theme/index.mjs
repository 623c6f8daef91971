// VitePress's own theme, with enough contrast in code.
import DefaultTheme from 'vitepress/theme';
import './contrast.css';

export default DefaultTheme;
