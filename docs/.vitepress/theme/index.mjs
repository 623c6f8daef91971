// VitePress's own theme, with enough contrast in code, a page for wrong addresses, and the current page in sight in the sidebar.
import { useRoute } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { h, nextTick, onMounted, watch } from 'vue';
import './contrast.css';

const notFound = () =>
  h('main', { class: 'vp-doc not-found' }, [
    h('h1', 'Page not found'),
    h('p', 'The address is wrong, or the page has another name now. The search at the top finds pages by their words.'),
    h('p', [h('a', { href: '/' }, 'Start page'), ' · ', h('a', { href: '/start/questions' }, 'Questions')]),
  ]);

/** The sidebar is longer than a window. */
function showCurrentPage() {
  const sidebar = document.querySelector('.VPSidebar');
  const item = sidebar?.querySelector('.VPSidebarItem.is-link.is-active');
  if (!item) return;
  const { top, bottom } = item.getBoundingClientRect();
  if (top < 80 || bottom > window.innerHeight) sidebar.scrollTop += top - window.innerHeight / 3;
}

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'not-found': notFound }),
  setup() {
    const route = useRoute();
    onMounted(() => nextTick(showCurrentPage));
    watch(
      () => route.path,
      () => nextTick(showCurrentPage),
    );
  },
};
