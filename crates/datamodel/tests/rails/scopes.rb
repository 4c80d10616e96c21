# A scope may choose an order (no condition), filter (a condition), or take one of several.
# file: app/models/shop.rb
class Shop < ApplicationRecord
  has_many :orders, -> { order(:created_at) }, dependent: :destroy
  has_many :open_orders, -> { where(state: "open").order(:id) }, class_name: "Order"
  has_many :visible_orders, -> { visible }, class_name: "Order"
  has_one :last_order, -> { order(id: :desc) }, class_name: "Order"
  has_one :any_order, class_name: "Order"
  has_many :top_orders, -> { order(:total).limit(3) }, class_name: "Order"
  has_many :old_orders, :class_name => "Order", :conditions => { :old => true }, :order => "id"
  has_many :old_text_orders, :class_name => "Order", :conditions => "old = 1"
  has_many :included_orders, -> { includes(:shop).with_deleted }, class_name: "Order"
  has_many :query_orders, :class_name => "Order", :finder_sql => "SELECT 1"
  has_one :owner
end
class Order < ApplicationRecord
  belongs_to :shop
  belongs_to :live_shop, -> { where(live: true) }, class_name: "Shop", foreign_key: :shop_id
end
class Owner < ApplicationRecord
  belongs_to :shop
end
